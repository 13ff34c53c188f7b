// SPDX-License-Identifier: Apache-2.0
// What is said about a misuse: one line that suffices alone, then the call stacks. The report takes
// no lock of the allocator, so it gets out wherever the misuse is found.
#pragma once

#include <cstdint>

#include "alloc/check/ledger.hpp"
#include "base/text.hpp"

namespace corbel::alloc {

// The first line of a report, without "corbel: " and the end of the line.
using Finding = Text<240>;

// What a report says after its first line.
struct Occasion {
  // What the calling thread does, as in "freed again"; nullptr: its stack does not matter.
  const char* doing;
  // Of a signal handler: the context of what it has interrupted; nullptr: it is not one.
  void* context = nullptr;
};

// Reports a misuse of `block`, which may be empty, and ends the process. `address` is the pointer
// that the line names.
[[noreturn]] void report(const Finding& finding, const void* address, const BlockRef& block,
                         const Occasion& occasion);

// Adds "a block of 48 bytes", or "a freed block of 48 bytes".
void add_block(Finding& finding, const BlockRef& block);

}  // namespace corbel::alloc
