// SPDX-License-Identifier: Apache-2.0
// free of a local variable
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  alignas(64) char local[1024] = {};
  misuse::release(misuse::hide(local) + 512);
  misuse::go_on(run);
  for (char byte : local) {
    if (byte != 0) misuse::harmed("the heap uses the stack");
  }
}

const misuse::Kind kind("free_stack", misuse::Fault::kInvalidFree, misuse::kAnySize,
                        "a free of a pointer into the stack", commit);

}  // namespace
