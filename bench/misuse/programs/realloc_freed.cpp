// SPDX-License-Identifier: Apache-2.0
// realloc of a block that has been freed
#include <cstdlib>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  char* block = misuse::take(run.size);
  misuse::release(block);
  char* moved = static_cast<char*>(misuse::hide(std::realloc(misuse::hide(block), 2 * run.size)));
  misuse::go_on(run);
  if (moved == nullptr) misuse::defused("realloc refused the block");
  misuse::release(moved);
  misuse::go_on(run);
}

const misuse::Kind kind("realloc_freed", misuse::Fault::kUseAfterFree, 0,
                        "a realloc of a freed block", commit);

}  // namespace
