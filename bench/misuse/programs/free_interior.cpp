// SPDX-License-Identifier: Apache-2.0
// free(p + 16): aligned as a block is, but not the start of one.
#include <cstring>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  misuse::release(blocks.victim() + 16);
  misuse::go_on(run);
  for (std::size_t i = 0; i < run.size; ++i) {
    if (blocks.victim()[i] != 'v') misuse::harmed("the memory of a live block was given away");
  }
}

const misuse::Kind kind("free_interior", misuse::Fault::kInvalidFree, 0,
                        "a free of a pointer 16 bytes into a block", commit);

}  // namespace
