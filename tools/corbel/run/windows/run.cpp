// SPDX-License-Identifier: Apache-2.0
// `corbel run`: starts a command with Corbel as its malloc, and waits for its end.
#include "run/run.hpp"

#include <fmt/core.h>
#include <windows.h>

#include "console/console.hpp"
#include "program/windows/library.hpp"
#include "program/windows/program.hpp"
#include "run/settings.hpp"
#include "run/windows/start.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

// What the loader says by the exit code of a process that it could not start; nullptr: nothing.
const char* loader_failure(DWORD code) {
  switch (code) {
    case 0xc0000135:
      return "a DLL that it needs is not there";
    case 0xc0000138:
    case 0xc0000139:
      return "a DLL lacks a function that it needs";
    case 0xc0000142:
      return "a DLL refused to start";
    case 0xc000007b:
      return "a DLL that it needs is not for 64-bit x86";
    default:
      return nullptr;
  }
}

std::string refusal(const RunOptions& options) {
  if (options.tbb != TbbMode::kOff) {
    return "--tbb is not there on Windows, where a program finds the DLLs in its own folder first: "
           "build the program with Corbel's headers and corbel.dll";
  }
  if (!options.huge_pages.empty()) {
    return "--huge-pages is not there on Windows, which has large pages only for programs with a "
           "right of their own";
  }
  return {};
}

void print_start(const RunOptions& options, const std::string& library, const std::string& path) {
  if (!options.verbose) return;
  if (!library.empty()) fmt::print(stderr, "corbel: loading {}\n", library);
  for (const char* name : {"CORBEL_STATS", "CORBEL_CHECK", kProfileVariable, kLeaksVariable,
                           kHeapLimitVariable, kHardLimitVariable}) {
    if (const auto value = variable(name)) fmt::print(stderr, "corbel: {}={}\n", name, *value);
  }
  fmt::print(stderr, "corbel: starting {}\n", path);
}

}  // namespace

int run(const RunOptions& options) {
  if (const std::string problem = refusal(options); !problem.empty()) {
    complain(problem);
    return kExitUsage;
  }
  const LibrarySearch library = find_library();
  if (!library.error.empty()) {
    complain(library.error);
    return kExitOwnFailure;
  }
  const Program program = examine_program(options.command.front());
  if (program.error_code != 0) {
    complain(program.error);
    return program.error_code;
  }
  for (const Obstacle& obstacle : program.obstacles) {
    complain(fmt::format(
        "{}: {}{}", program.path, obstacle.text,
        options.force ? "; it is started as it is" : " (--force starts it all the same)"));
    if (!options.force) return kExitCannotExecute;
  }
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) set_variable(name, value);
  };
  set("CORBEL_STATS", options.stats);
  set(kProfileVariable, options.profile);
  set(kLeaksVariable, options.leaks);
  set("CORBEL_CHECK", options.check);
  set(kHeapLimitVariable, options.heap_limit);
  set(kHardLimitVariable, options.hard_limit);

  StartRequest request;
  request.command = options.command;
  request.path = program.path;
  if (program.obstacles.empty() && !program.is_linked) request.library = library.path;
  print_start(options, request.library, program.path);
  const LeaveInterruptsToCommand interrupts;
  restore_terminal();
  StartedProcess started;
  if (const std::string problem = started.create(request); !problem.empty()) {
    prepare_terminal();
    complain(fmt::format("cannot start {}: {}", program.path, problem));
    return kExitCannotExecute;
  }
  started.resume();
  WaitForSingleObject(started.process(), INFINITE);
  prepare_terminal();
  DWORD code = 0;
  GetExitCodeProcess(started.process(), &code);
  if (const char* why = loader_failure(code)) {
    complain(fmt::format("{} did not start: {} (exit code 0x{:x})", program.path, why, code));
  }
  return static_cast<int>(code);
}

}  // namespace corbel::cli
