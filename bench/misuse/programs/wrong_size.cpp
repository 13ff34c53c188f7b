// SPDX-License-Identifier: Apache-2.0
// operator delete with four times the size of the block, as through a pointer to another class.
#include <cstring>
#include <new>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  misuse::Neighbours blocks(run);
  void* block = misuse::hide(::operator new(run.size));
  ::operator delete(misuse::hide(block), 4 * run.size);
  misuse::Run larger = run;
  larger.size = 4 * run.size;
  misuse::go_on(larger);
  blocks.finish();
  misuse::go_on(run);
}

const misuse::Kind kind("wrong_size", misuse::Fault::kWrongSize, 0,
                        "a sized delete with four times the block's size", commit);

}  // namespace
