// SPDX-License-Identifier: Apache-2.0
// A read of a block that was never written: does it show what an earlier owner left there?
#include <cstring>

#include "misuse.hpp"

namespace {

constexpr std::size_t kBlocks = 64;
char* blocks[kBlocks];

void commit(const misuse::Run& run) {
  char* earlier = misuse::take(run.size);
  std::memset(earlier, 's', run.size);
  misuse::release(earlier);
  const std::size_t middle = misuse::inside(run);
  bool is_filled = true;
  for (char*& block : blocks) {
    block = misuse::take(run.size);
    if (misuse::get(block + middle) == 's')
      misuse::harmed("a new block shows an earlier one's data");
    is_filled = is_filled && misuse::get(block + middle) != 0;
  }
  for (char* block : blocks) misuse::release(block);
  misuse::go_on(run);
  if (is_filled) misuse::defused("new blocks are filled with a pattern");
  misuse::remark("the read showed zero");
}

const misuse::Kind kind("uninitialised_read", misuse::Fault::kUninitialised, 0,
                        "a read of a new block that was never written", commit);

}  // namespace
