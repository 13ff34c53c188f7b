// SPDX-License-Identifier: Apache-2.0
// A write of 1 byte after the end of a block, between neighbours of the same size.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  for (std::size_t i = 0; i < 1; ++i) misuse::put(blocks.victim() + run.size + i, 'A');
  blocks.finish_after_stray_write(run);
}

const misuse::Kind kind("overflow_1", misuse::Fault::kOverflow, misuse::kByChance,
                        "a write of 1 byte past a block's end", commit);

}  // namespace
