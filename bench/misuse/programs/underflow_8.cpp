// SPDX-License-Identifier: Apache-2.0
// A write of 8 bytes before the start of a block, between neighbours of the same size.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  for (std::size_t i = 1; i <= 8; ++i) misuse::put(blocks.victim() - i, 'A');
  blocks.finish_after_stray_write(run);
}

const misuse::Kind kind("underflow_8", misuse::Fault::kUnderflow, misuse::kByChance,
                        "a write of 8 bytes before a block's start", commit);

}  // namespace
