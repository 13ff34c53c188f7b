// SPDX-License-Identifier: Apache-2.0
// Runs a command once and measures it. The one engine that measures processes: `corbel compare`
// links it, and bench/lab/engine.cpp is the program that the bench lab starts for every run. It
// depends on nothing but the system, so that the lab can compile it with one call of the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corbel::cli {

struct RunRequest {
  std::vector<std::string> command;
  std::string path;                      // the file to execute
  std::vector<std::string> environment;  // "NAME=value"
  std::string library;                   // what the system has the process load first, where
                                         // the environment cannot say it; empty: nothing
  int output = -1;                       // file for stdout; -1: inherited
  int errors = -1;                       // file for stderr; -1: inherited
  // Start the command in a session of its own, kill it when this process dies, and on SIGTERM,
  // SIGINT or SIGHUP to this process end the command's process group: SIGTERM first, SIGKILL after
  // two seconds.
  bool supervised = false;
  double timeout = 0;  // seconds until a supervised command is ended that way; 0: none
};

struct RunResult {
  bool started = false;
  std::string error;
  int exit_code = 0;            // 128 + signal when a signal ended it
  int signal = 0;               // the signal that ended it, or 0
  bool timed_out = false;       // the timeout ended it
  double wall = 0;              // seconds, from exec to the end
  double user = 0, system = 0;  // seconds, the command and the children it waited for
  std::uint64_t peak_rss = 0;   // bytes, of the largest process among them
  bool peak_exact = false;      // `peak_rss` is VmHWM, read at exit; otherwise it is ru_maxrss
  std::uint64_t rss_floor = 0;  // bytes resident at exec; ru_maxrss is never below it
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t peak_commit = 0;  // bytes that the system had promised it at most; Windows only
  double other_cpu =
      0;             // seconds that other processes ran meanwhile on the processors allowed here
  double steal = 0;  // seconds that the hypervisor took from these processors
  double cpu() const { return user + system; }
};

RunResult measure(const RunRequest& request);

}  // namespace corbel::cli
