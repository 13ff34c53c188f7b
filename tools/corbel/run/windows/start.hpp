// SPDX-License-Identifier: Apache-2.0
// Starts programs, with DLLs that they do not ask for themselves.
#pragma once

#include <windows.h>

#include <string>
#include <vector>

namespace corbel::cli {

struct StartRequest {
  std::vector<std::string> command;
  std::string path;                           // the file to execute
  std::string library;                        // the DLL to load before all others; empty: none
  HANDLE output = nullptr, errors = nullptr;  // nullptr: this process's own
  // It ends with this process at the latest, and so do the processes that it starts. The loader's
  // failures are told by its exit code alone, and not in a window.
  bool is_trial = false;
};

// Closes its handles at the end; the process lives on, if it is no trial.
class StartedProcess {
 public:
  StartedProcess() = default;
  ~StartedProcess();
  StartedProcess(const StartedProcess&) = delete;
  StartedProcess& operator=(const StartedProcess&) = delete;

  // Creates the process, suspended. It gets this process's environment, with Corbel's variables as
  // they are there. Returns why not, in one line; empty when it is there.
  std::string create(const StartRequest& request);
  // Has it run.
  void resume() const { ResumeThread(thread_); }
  // Ends it; a process that has ended already stays as it is.
  void end() const { TerminateProcess(process_, 1); }

  HANDLE process() const { return process_; }
  HANDLE thread() const { return thread_; }

 private:
  HANDLE process_ = nullptr, thread_ = nullptr;
  HANDLE job_ = nullptr;  // of a trial
};

// A command line from which CommandLineToArgvW, and the C runtime, get `words` back.
std::wstring command_line(const std::vector<std::string>& words);

// While an object lives, Ctrl-C and Ctrl-Break, which reach every process of the console, do not
// end this process.
class LeaveInterruptsToCommand {
 public:
  LeaveInterruptsToCommand();
  ~LeaveInterruptsToCommand();
  LeaveInterruptsToCommand(const LeaveInterruptsToCommand&) = delete;
  LeaveInterruptsToCommand& operator=(const LeaveInterruptsToCommand&) = delete;
};

}  // namespace corbel::cli
