// SPDX-License-Identifier: Apache-2.0
// `corbel check`: reports, symbol by symbol, whether Corbel is active in a program, and if not,
// why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/binding.hpp"
#include "program/obstacle.hpp"
#include "program/tbb_report.hpp"
#include "run/settings.hpp"

namespace corbel::cli {

struct SymbolReport {
  std::string symbol;    // as linked
  std::string name;      // readable
  std::string provider;  // first object that defines it; empty when none does
  bool essential = false;
  bool corbel = false;  // the provider is Corbel
  bool minor = false;   // of interest to --verbose alone
  std::vector<Binding> bindings;
};

struct CheckReport {
  std::string target;   // what was examined
  std::string how;      // how the command starts, or the process
  std::string mode;     // "run", "as-is" or "pid"
  bool script = false;  // it is the interpreter of a script
  bool active = false;
  bool malloc_active = false;     // apart from libtbb.so.12
  std::vector<Obstacle> reasons;  // why it is not active
  std::vector<std::string> notes;
  std::vector<std::string> objects;
  std::vector<SymbolReport> symbols;
  std::optional<TbbReport> tbb;   // when the program needs something of it
  std::string tbb_problem;        // why --tbb could not start it on Corbel's library
  std::vector<Setting> settings;  // settings of the allocator, when it is active
  std::string error;              // why the check itself failed
  int error_code = 0;
};

struct CheckOptions {
  std::vector<std::string> command;
  int pid = 0;
  TbbMode tbb = TbbMode::kOff;
  bool as_is = false;
  bool json = false;
  bool verbose = false;
};

// Checks `command` as `corbel run` would start it, or as it is.
CheckReport check_command(const std::vector<std::string>& command, bool as_is, TbbMode tbb);
CheckReport check_process(int pid);

// The settings of process `pid`, or of what this process starts if that is 0. `notes` is as for
// read_settings().
std::vector<Setting> settings_of(int pid, std::vector<std::string>& notes);

// Runs the sub-command; returns the exit code.
int check(const CheckOptions& options);

}  // namespace corbel::cli
