// SPDX-License-Identifier: Apache-2.0
// A block of new that is freed with free.
#include <cstdlib>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  void* block = misuse::hide(::operator new(run.size));
  misuse::release(block);
  misuse::go_on(run);
}

const misuse::Kind kind("new_free", misuse::Fault::kMismatch, 0, "a block of new to free", commit);

}  // namespace
