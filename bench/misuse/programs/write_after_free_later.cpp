// SPDX-License-Identifier: Apache-2.0
// A write through a stale pointer, whose memory may belong to another block by now.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  char* victim = blocks.victim();
  blocks.finish();
  misuse::other_allocations(run, run.far);
  for (std::size_t i = 0; i < 8; ++i) misuse::put(victim + misuse::inside(run) + i, 'A');
  misuse::other_allocations(run, misuse::Blocks::kMost);
  misuse::go_on(run);
}

const misuse::Kind kind("write_after_free_later", misuse::Fault::kUseAfterFree,
                        misuse::kByChance | misuse::kFar,
                        "a write to a freed block after a million other allocations", commit);

}  // namespace
