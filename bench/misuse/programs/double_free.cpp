// SPDX-License-Identifier: Apache-2.0
// free(p); free(p);
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  char* block = misuse::take(run.size);
  misuse::release(block);
  misuse::release(block);
  misuse::go_on(run);
}

const misuse::Kind kind("double_free", misuse::Fault::kDoubleFree, 0,
                        "a block freed twice, at once", commit);

}  // namespace
