// SPDX-License-Identifier: Apache-2.0
// Running a command once and measuring it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corbel::cli {

struct RunRequest {
  std::vector<std::string> command;
  std::string path;                      // the file to execute
  std::vector<std::string> environment;  // "NAME=value"
  int output = -1;                       // file for stdout; -1 lets it pass through
  int errors = -1;                       // file for stderr; -1 lets it pass through
};

struct RunResult {
  bool started = false;
  std::string error;
  int exit_code = 0;            // 128 + signal when a signal ended it
  double wall = 0;              // seconds, from exec to the end
  double user = 0, system = 0;  // seconds, the command and the children it waited for
  std::uint64_t peak_rss = 0;   // bytes, of the largest process among them
  bool peak_exact = false;      // it is VmHWM, read as the command ended, and not ru_maxrss
  std::uint64_t rss_floor =
      0;  // bytes that this program had itself at exec: no ru_maxrss is below it
  std::uint64_t minor_faults = 0, major_faults = 0;
  double other_cpu = 0;    // seconds of processor time that other processes took meanwhile
  bool disturbed = false;  // and that was enough to matter
  double cpu() const { return user + system; }
};

RunResult measure(const RunRequest& request);

}  // namespace corbel::cli
