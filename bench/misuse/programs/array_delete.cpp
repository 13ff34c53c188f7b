// SPDX-License-Identifier: Apache-2.0
// A block of new[] that is freed with delete.
#include <cstdlib>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  void* block = misuse::hide(::operator new[](run.size));
  ::operator delete(misuse::hide(block));
  misuse::go_on(run);
}

const misuse::Kind kind("array_delete", misuse::Fault::kMismatch, 0, "a block of new[] to delete",
                        commit);

}  // namespace
