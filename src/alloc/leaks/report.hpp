// SPDX-License-Identifier: Apache-2.0
// Says what a scan has found.
#pragma once

#include "alloc/leaks/options.hpp"
#include "alloc/leaks/scan.hpp"

namespace corbel::alloc {

// To standard error, for people: a summary, and the places with their stacks as files and offsets.
void report_leaks_as_text(const LeakScan& scan, LeakScan::Result result,
                          const LeakOptions& options);

// To the file that the options name, for `corbel leaks`. Lines of words:
//   corbel-leaks 1
//   process PID
//   command TEXT
//   failed TEXT                                  there was no scan
//   map START END OFFSET PATH                    hexadecimal; a mapping with code, or a file's
//   first place KIND BLOCKS BYTES INDIRECT_BLOCKS INDIRECT_BYTES FRAME...
//                                                return addresses, hexadecimal, innermost first
//   end
// On failure, says so on standard error.
void report_leaks_to_file(const LeakScan& scan, LeakScan::Result result,
                          const LeakOptions& options);

}  // namespace corbel::alloc
