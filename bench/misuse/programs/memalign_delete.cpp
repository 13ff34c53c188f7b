// SPDX-License-Identifier: Apache-2.0
// A block of posix_memalign that is freed with delete.
#include <cstdlib>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  void* block = nullptr;
  if (posix_memalign(&block, 128, run.size) != 0) misuse::impossible("there is no block");
  ::operator delete(misuse::hide(block));
  misuse::go_on(run);
}

const misuse::Kind kind("memalign_delete", misuse::Fault::kMismatch, 0,
                        "a block of posix_memalign to delete", commit);

}  // namespace
