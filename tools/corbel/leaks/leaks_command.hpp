// SPDX-License-Identifier: Apache-2.0
// `corbel leaks`: runs a command, or asks a running process, and reports the blocks that it loses.
#pragma once

#include <string>
#include <vector>

#include "leaks/leak_file.hpp"
#include "leaks/suppressions.hpp"
#include "run/run.hpp"

namespace corbel::cli {

struct LeaksOptions {
  RunOptions run;
  std::vector<std::string> files;         // reports to be read instead of running a command
  std::vector<std::string> suppressions;  // files
  std::string json_file;                  // "-": standard output; empty: none
  bool possible = false, reachable = false;
  bool sampled = false;  // only the blocks that the sampler records
  std::string every;     // bytes between samples; empty: the default
  int pid = 0;           // the running process that is checked instead of a command; 0: none
  bool into_sandbox = false;
  int exit_code = 0;  // with definite leaks; 0: the command's own
  int count = 50;     // places listed of each process
};

// Returns the exit code. Ends by the command's signal if that ended by one.
int leaks(const LeaksOptions& options);

struct LeakTotals {
  std::uint64_t places = 0, blocks = 0, bytes = 0;
};

// A report without what is suppressed.
struct JudgedReport {
  LeakReport report;
  LeakTotals totals[3];  // by kind; of definite leaks with the indirect ones
  LeakTotals suppressed;
};

JudgedReport judge(LeakReport report, const Suppressions& suppressions);

// For people, on standard error.
void print_leaks(const JudgedReport& judged, const LeaksOptions& options);
std::string leaks_as_json(const std::vector<JudgedReport>& reports);

}  // namespace corbel::cli
