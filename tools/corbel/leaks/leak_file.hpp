// SPDX-License-Identifier: Apache-2.0
// The report that a process on Corbel writes with CORBEL_LEAKS=1,file=PATH
// (src/alloc/leaks/report.hpp has its format).
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace corbel::cli {

struct LeakFrame {
  std::string function;  // "FILE+0xOFFSET" where there is no name
  std::string file;      // of the source; empty where it is not known
  std::int64_t line = 0;
  std::string module;  // the path of the program or library
};

enum class LeakKind { kDefinite, kPossible, kReachable };
const char* name_of(LeakKind kind);

// Blocks that were allocated at one place, with one call stack.
struct LeakPlace {
  LeakKind kind = LeakKind::kDefinite;
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t indirect_blocks = 0, indirect_bytes = 0;
  std::uint64_t samples = 0;     // that the figures are estimated from; 0: they are exact
  std::vector<LeakFrame> stack;  // innermost first; inlined calls have frames of their own
};

struct LeakReport {
  std::uint64_t process = 0;
  std::string command;
  std::string failure;  // why there was no scan; empty: there was one
  // The mean distance between samples, and how many of them are reachable; 0: all blocks are known.
  std::uint64_t sampled_every = 0, reachable_samples = 0;
  std::vector<LeakPlace> places;
  std::string advice;  // what the user can do to get missing names; may be empty
};

// Reads a report and names its addresses. Throws std::runtime_error with one line when the file is
// not a whole report.
LeakReport read_leak_report(const std::string& path);
// The same for the content of a file; messages name it `path`.
LeakReport parse_leak_report(std::istream& content, const std::string& path);

}  // namespace corbel::cli
