// SPDX-License-Identifier: Apache-2.0
// A block freed again after many other allocations, one of which may have got its memory.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  char* block = misuse::take(run.size);
  misuse::release(block);
  misuse::other_allocations(run, run.far);
  misuse::release(block);
  misuse::go_on(run);
}

const misuse::Kind kind("double_free_later", misuse::Fault::kDoubleFree,
                        misuse::kByChance | misuse::kFar,
                        "a block freed again after a million other allocations", commit);

}  // namespace
