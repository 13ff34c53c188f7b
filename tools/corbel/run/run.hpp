// SPDX-License-Identifier: Apache-2.0
// `corbel run`: executes a command with Corbel as its malloc.
#pragma once

#include <string>
#include <vector>

#include "program/tbb_report.hpp"

namespace corbel::cli {

struct RunOptions {
  std::vector<std::string> command;
  // An empty text leaves the variable of the environment as it is.
  std::string heap_limit;
  std::string hard_limit;
  std::string huge_pages;  // never, auto or always
  std::string stats;       // 1 or json
  std::string profile;     // CORBEL_PROFILE
  std::string leaks;       // CORBEL_LEAKS
  std::string check;       // full, with options
  // The command keeps its malloc; it gets the library of the C interface alone.
  bool own_malloc = false;
  TbbMode tbb = TbbMode::kOff;
  bool verbose = false;
  bool force = false;
  bool may_force = false;  // the command has an option for it
};

// What the environment of this process is set up for.
struct PreparedRun {
  std::string path;    // what is to be executed
  int error_code = 0;  // the exit code when the command cannot run; what is wrong has been printed
};

// Sets the variables with which the command starts on Corbel, in this process.
PreparedRun prepare_run(const RunOptions& options);

// Replaces this process with the command, so the exit code, signals, standard input and the
// terminal are the command's own. Returns only on failure, with the exit code.
int run(const RunOptions& options);

// Replaces this process with `command`, without other changes. Returns the exit code on failure.
int execute(const std::vector<std::string>& command, const std::string& path);

}  // namespace corbel::cli
