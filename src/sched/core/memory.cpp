// SPDX-License-Identifier: Apache-2.0
// Memory for tasks and deques.
#include <corbel/detail/task.hpp>

#include <new>

#include "os/os.hpp"
#include "sched/core/block_pool.hpp"

namespace corbel::detail {
namespace {

block_cache* own_cache() {
  return own_thread_data() != nullptr ? &own_thread_data()->blocks : nullptr;
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  const std::size_t c = block_cache::class_of(bytes);
  if (c >= block_cache::kClasses) return ::operator new(bytes, std::align_val_t{kCacheLine});
  block_cache* const cache = own_cache();
  void* const block = cache != nullptr ? cache->take(c) : nullptr;
  return block != nullptr ? block : sched::take_blocks(cache, c);
}

void deallocate_block(void* block, std::size_t bytes) noexcept {
  const std::size_t c = block_cache::class_of(bytes);
  if (c >= block_cache::kClasses) {
    ::operator delete(block, bytes, std::align_val_t{kCacheLine});
    return;
  }
  block_cache* const cache = own_cache();
  if (cache == nullptr || !cache->keep(block, c)) sched::give_back_blocks(cache, block, c);
}

void* deque_system::allocate(std::size_t bytes) { return ::operator new(bytes); }

void deque_system::deallocate(void* block) noexcept { ::operator delete(block); }

void deque_system::process_barrier() noexcept { os::process_barrier(); }

}  // namespace corbel::detail
