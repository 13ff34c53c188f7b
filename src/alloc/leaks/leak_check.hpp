// SPDX-License-Identifier: Apache-2.0
// A scan of the blocks that are recorded, and its report.
#pragma once

#include "alloc/leaks/sink.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

enum class LeakVerdict {
  kNone,          // no definite leaks
  kSome,          // there are
  kNotRecording,  // the process has not been told to record its blocks
  kBusy,          // another thread is checking
  kNotPossible,   // the scan failed; the report says why
};

// Scans, and reports as CORBEL_LEAKS says. Requires that all blocks are recorded. `return_address`
// is that of the program's call.
LeakVerdict check_leaks(const void* return_address);

// For a signal handler that may have interrupted the allocator: scans without waiting for a lock,
// and writes the report to the sink, in the form of a file. kBusy also means that the interrupted
// code keeps the scan out. After kBusy and kNotRecording, nothing has been written.
// If `sampled`, or if not all blocks are recorded, checks those that the sampler has recorded, if
// it ever has.
LeakVerdict check_leaks_in_handler(const os::Request& request, bool sampled, const LeakSink& sink);

}  // namespace corbel::alloc
