// SPDX-License-Identifier: Apache-2.0
// free(p + 1)
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  misuse::release(blocks.victim() + 1);
  misuse::go_on(run);
  for (std::size_t i = 0; i < run.size; ++i) {
    if (blocks.victim()[i] != 'v') misuse::harmed("the memory of a live block was given away");
  }
}

const misuse::Kind kind("free_misaligned", misuse::Fault::kInvalidFree, 0,
                        "a free of a pointer one byte into a block", commit);

}  // namespace
