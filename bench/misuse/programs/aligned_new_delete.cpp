// SPDX-License-Identifier: Apache-2.0
// A block of an over-aligned class, freed as one that is not.
#include <cstdlib>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  void* block = misuse::hide(::operator new(run.size, std::align_val_t{128}));
  ::operator delete(misuse::hide(block));
  misuse::go_on(run);
}

const misuse::Kind kind("aligned_new_delete", misuse::Fault::kMismatch, 0,
                        "a block of aligned new to plain delete", commit);

}  // namespace
