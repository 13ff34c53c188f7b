// SPDX-License-Identifier: Apache-2.0
// `corbel top`: what running processes on Corbel hold and do, once a second.
#pragma once

#include <string>
#include <vector>

#include "program/tbb_report.hpp"

namespace corbel::cli {

struct TopOptions {
  int pid = 0;                       // 0: all processes of the user, or `command`
  std::vector<std::string> command;  // started on Corbel and watched
  TbbMode tbb = TbbMode::kOff;       // for `command`
  double interval = 1;               // seconds
  bool once = false;
  bool json = false;
  bool prometheus = false;
  std::string listen;  // ADDR:PORT, for Prometheus
  bool into_sandbox = false;
};

// Runs the sub-command; returns the exit code.
int top(const TopOptions& options);

}  // namespace corbel::cli
