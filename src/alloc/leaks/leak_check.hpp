// SPDX-License-Identifier: Apache-2.0
// A scan of all blocks that the ledger has, and its report.
#pragma once

#include <cstdint>

namespace corbel::alloc {

enum class LeakVerdict {
  kNone,          // no definite leaks
  kSome,          // there are
  kNotRecording,  // the process has not been told to record its blocks
  kBusy,          // another thread is checking
  kNotPossible,   // the scan failed; the report says why
};

// Scans, and reports as CORBEL_LEAKS says. `return_address` is that of the program's call.
LeakVerdict check_leaks(const void* return_address);

}  // namespace corbel::alloc
