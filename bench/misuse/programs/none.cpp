// SPDX-License-Identifier: Apache-2.0
// No misuse: what a contestant says here is a false alarm.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  blocks.finish();
  misuse::go_on(run);
}

const misuse::Kind kind("none", misuse::Fault::kNone, 0, "no misuse, as a control", commit);

}  // namespace
