// SPDX-License-Identifier: Apache-2.0
// Says what a scan has found.
#pragma once

#include "alloc/leaks/findings.hpp"
#include "alloc/leaks/options.hpp"
#include "alloc/leaks/sink.hpp"

namespace corbel::alloc {

// To standard error, for people: a summary, and the places with their stacks as files and offsets.
void report_leaks_as_text(const LeakFindings& findings, const LeakOptions& options);

// For the corbel command. Lines of words:
//   corbel-leaks 1
//   process PID
//   command TEXT
//   failed TEXT                                  there was no scan
//   sampled EVERY REACHABLE_SAMPLES              only samples of the blocks are known
//   map START END OFFSET PATH                    hexadecimal; a mapping with code, or a file's
//   place KIND BLOCKS BYTES INDIRECT_BLOCKS INDIRECT_BYTES FRAME...
//                                                return addresses, hexadecimal, innermost first
//   sample SAMPLES BLOCKS BYTES FRAME...         a place of definite leaks in a sampled scan
//   end
// At most one thread may write at a time.
void write_leaks(const LeakFindings& findings, const LeakSink& sink);

// The same to the file that the options name. On failure, says so on standard error.
void report_leaks_to_file(const LeakFindings& findings, const LeakOptions& options);

}  // namespace corbel::alloc
