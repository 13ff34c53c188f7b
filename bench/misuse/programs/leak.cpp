// SPDX-License-Identifier: Apache-2.0
// Blocks whose last pointer is gone when the program ends.
#include <cstring>

#include "misuse.hpp"

namespace {

[[gnu::noinline]] void lose(std::size_t size) {
  char* block = misuse::take(size);
  std::memset(block, 'l', size);
  misuse::hide(block);
}

// Overwrites what the calls before have left on the stack, where a search would find a pointer.
[[gnu::noinline]] void clear_stack() {
  char bytes[16384];
  std::memset(misuse::hide(bytes), 0, sizeof bytes);
  misuse::hide(bytes);
}

void commit(const misuse::Run& run) {
  for (int i = 0; i < 16; ++i) lose(run.size);
  misuse::go_on(run);
  clear_stack();
}

const misuse::Kind kind("leak", misuse::Fault::kLeak, 0, "sixteen blocks that nothing points to",
                        commit);

}  // namespace
