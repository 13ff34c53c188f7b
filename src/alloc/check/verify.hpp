// SPDX-License-Identifier: Apache-2.0
// Finding what the program has written outside of its blocks. A function that finds something ends
// the process with a report.
#pragma once

#include <cstddef>

#include "alloc/check/ledger.hpp"
#include "alloc/check/report.hpp"

namespace corbel::alloc {

// Checks the redzones of a block. Requires: the caller has taken its record (BlockRef::take), whose
// state was `state`.
void verify_redzones(const BlockRef& block, BlockState state, const Occasion& occasion);

// Reports that the byte at `changed`, next to the block, has been written.
[[noreturn]] void report_outside(const char* changed, const BlockRef& block,
                                 const Occasion& occasion);

// Checks that a block in quarantine still has the pattern of freed memory. Requires: the caller has
// taken its record.
void verify_freed(const BlockRef& block, const Occasion& occasion);

// Checks all blocks, or the next few of them.
void verify_all(const char* doing);
void verify_some();

}  // namespace corbel::alloc
