// SPDX-License-Identifier: Apache-2.0
// A write of 8 bytes into the middle of a block that has just been freed.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  char* victim = blocks.victim();
  blocks.finish();
  for (std::size_t i = 0; i < 8; ++i) misuse::put(victim + misuse::inside(run) + i, 'A');
  misuse::go_on(run);
}

const misuse::Kind kind("write_after_free", misuse::Fault::kUseAfterFree, misuse::kByChance,
                        "a write to a block right after its free", commit);

}  // namespace
