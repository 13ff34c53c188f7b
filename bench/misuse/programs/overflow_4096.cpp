// SPDX-License-Identifier: Apache-2.0
// A write of 4096 bytes after the end of a block, between neighbours of the same size.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  for (std::size_t i = 0; i < 4096; ++i) misuse::put(blocks.victim() + run.size + i, 'A');
  blocks.finish_after_stray_write(run);
}

const misuse::Kind kind("overflow_4096", misuse::Fault::kOverflow, misuse::kByChance,
                        "a write of 4096 bytes past a block's end", commit);

}  // namespace
