// SPDX-License-Identifier: Apache-2.0
// A read through a stale pointer. Another block may lie there by now, and the read shows its data.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  const char* victim = blocks.victim();
  blocks.finish();
  misuse::other_allocations(run, run.far);
  misuse::get(victim + misuse::inside(run));
  misuse::go_on(run);
  misuse::remark("the read showed whatever was there");
}

const misuse::Kind kind("read_after_free_later", misuse::Fault::kUseAfterFree,
                        misuse::kByChance | misuse::kFar,
                        "a read of a freed block after a million other allocations", commit);

}  // namespace
