// SPDX-License-Identifier: Apache-2.0
// Asks a running process that has Corbel's allocator (src/os/linux/request.hpp has the protocol).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace corbel::cli {

struct Answer {
  std::string content;
  std::string error;  // why there is no content, in one line; empty: `content` is complete

  bool is_complete() const { return error.empty(); }
};

struct AskOptions {
  // How long the process may take until it answers, and without progress while it answers.
  std::chrono::milliseconds patience{2000};
  // How long the answer may take once the process has begun it; 0: as `patience`.
  std::chrono::milliseconds answer_patience{0};
  // Ask also where a sandbox may end the process because it opens a socket.
  bool into_sandbox = false;
};

// Asks process `pid` for what `command` names:
//   "version", "stats" (JSON), "tasks" (JSON), "state" (JSON: {"heap":<stats>,"tasks":<or null>})
//   "profile heap start [every=SIZE]"  content "on" if the profile is on already, "again" if it
//                                      has been on before, else "off"
//   "profile heap write"               content: a pprof file, gzip
//   "profile heap stop"                no content
//   "leaks", "leaks sampled"           content: a leak report; its threads stop for it
// The signal that the process gets may end one of its system calls with EINTR, unless Corbel's
// helper thread takes it.
Answer ask(int pid, const std::string& command, const AskOptions& options = {});

// What /proc tells of a process.
struct ProcessFacts {
  int pid = 0;
  std::string command;  // its name, of at most 15 characters
  char state = '?';
  unsigned user = 0;
  bool has_memory = false;       // false: a kernel thread, or it has ended
  bool catches_request = false;  // it has a handler for the signal by which it is asked
  bool ignores_request = false;
  std::string seccomp_filters;  // how many; empty where the kernel does not tell
  bool is_filtered = false;     // it may make only some system calls

  bool is_over() const { return state == 'Z' || state == 'X'; }
};

// nullopt when there is no such process. `pid` may be a thread of it.
std::optional<ProcessFacts> read_process(int pid);

// The processes of the user that can be asked; for root, of all users.
std::vector<ProcessFacts> processes_on_corbel();

}  // namespace corbel::cli
