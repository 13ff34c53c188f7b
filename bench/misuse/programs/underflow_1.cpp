// SPDX-License-Identifier: Apache-2.0
// A write of 1 byte before the start of a block, between neighbours of the same size.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  for (std::size_t i = 1; i <= 1; ++i) misuse::put(blocks.victim() - i, 'A');
  blocks.finish_after_stray_write(run);
}

const misuse::Kind kind("underflow_1", misuse::Fault::kUnderflow, misuse::kByChance,
                        "a write of 1 byte before a block's start", commit);

}  // namespace
