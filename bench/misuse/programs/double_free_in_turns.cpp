// SPDX-License-Identifier: Apache-2.0
// free(p); free(q); free(p); A check that looks at the last freed block alone is blind here.
#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  char* block = misuse::take(run.size);
  char* other = misuse::take(run.size);
  misuse::release(block);
  misuse::release(other);
  misuse::release(block);
  misuse::go_on(run);
}

const misuse::Kind kind("double_free_in_turns", misuse::Fault::kDoubleFree, 0,
                        "a block freed twice, with one other free between", commit);

}  // namespace
