// SPDX-License-Identifier: Apache-2.0
// free of a static variable
#include "misuse.hpp"

namespace {

alignas(64) char variable[1024];

void commit(const misuse::Run& run) {
  misuse::release(variable + 512);
  misuse::go_on(run);
  for (char byte : variable) {
    if (byte != 0) misuse::harmed("the heap uses a static variable");
  }
}

const misuse::Kind kind("free_static", misuse::Fault::kInvalidFree, misuse::kAnySize,
                        "a free of a pointer to a static variable", commit);

}  // namespace
