// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cstdlib>
#include <new>
#include <set>

#include <corbel/detail/task.hpp>

#include "types.hpp"

namespace corbel::model {
namespace {

std::set<void*> blocks;

}  // namespace

void forget_blocks() {
  for (void* block : blocks) ::operator delete(block);
  blocks.clear();
}

std::size_t count_blocks() { return blocks.size(); }

}  // namespace corbel::model

namespace corbel::detail {

void* allocate_block(std::size_t bytes) {
  return *model::blocks.insert(::operator new(bytes)).first;
}

void deallocate_block(void* block, std::size_t) noexcept {
  model::check(model::blocks.erase(block) == 1, "a block is freed twice");
  ::operator delete(block);
}

}  // namespace corbel::detail
