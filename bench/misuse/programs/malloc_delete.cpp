// SPDX-License-Identifier: Apache-2.0
// A block of malloc that is freed with delete. Most allocators take it for the same.
#include <cstdlib>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  void* block = misuse::take(run.size);
  ::operator delete(misuse::hide(block));
  misuse::go_on(run);
}

const misuse::Kind kind("malloc_delete", misuse::Fault::kMismatch, 0, "a block of malloc to delete",
                        commit);

}  // namespace
