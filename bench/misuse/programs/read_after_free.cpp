// SPDX-License-Identifier: Apache-2.0
// A read of a block that has just been freed: does it still show what was there?
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  const char* victim = blocks.victim();
  blocks.finish();
  const bool is_old = misuse::get(victim + misuse::inside(run)) == 'v';
  misuse::go_on(run);
  if (!is_old) misuse::defused("the old content is gone");
  misuse::remark("the old content is still there");
}

const misuse::Kind kind("read_after_free", misuse::Fault::kUseAfterFree, misuse::kByChance,
                        "a read of a block right after its free", commit);

}  // namespace
