// SPDX-License-Identifier: Apache-2.0
// `corbel run`: executes a command with Corbel as its malloc.
#include "run/run.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "program/library.hpp"
#include "program/program.hpp"
#include "program/tbb.hpp"
#include "run/settings.hpp"
#include "terminal.hpp"

namespace corbel::cli {

int execute(const std::vector<std::string>& command, const std::string& path) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  // Unlike execve, execvp runs a script without a "#!" line with the shell.
  execvp(path.c_str(), arguments.data());
  const int error = errno;
  complain(fmt::format("cannot execute {}: {}", path, std::strerror(error)));
  return error == ENOENT ? kExitNotFound : kExitCannotExecute;
}

PreparedRun prepare_run(const RunOptions& options) {
  const LibrarySearch library = find_library();
  if (!library.error.empty()) {
    complain(library.error);
    return {{}, kExitOwnFailure};
  }
  std::string preloaded = library.path;
  if (options.own_malloc) {
    const LibrarySearch plain = find_plain_library(library.path);
    if (!plain.error.empty()) {
      complain(plain.error);
      return {{}, kExitOwnFailure};
    }
    preloaded = plain.path;
  }
  if (const std::string problem = preload_path_problem(library.path); !problem.empty()) {
    complain(problem);
    return {{}, kExitOwnFailure};
  }
  const Program program = examine_program(options.command.front(), library.path);
  if (program.error_code != 0) {
    complain(program.error);
    return {{}, program.error_code};
  }
  for (const Obstacle& obstacle : program.obstacles) {
    if (obstacle.id == "static" && file_is_corbel(program.path)) continue;  // linked with it
    std::string hint =
        options.force ? "; it runs on its own malloc" : " (--force starts it all the same)";
    // Without Corbel there is nothing to report, which the other commands start it for.
    if (!options.may_force) hint = obstacle.help.empty() ? "" : " (" + obstacle.help + ")";
    complain(fmt::format("{}: {}{}", program.path, obstacle.text, hint));
    if (!options.force) return {{}, kExitCannotExecute};
  }

  std::string preload = variable(kPreloadVariable);
  if (options.own_malloc) preload = without_corbel(preload);
  if (options.tbb != TbbMode::kOff) {
    const TbbSetup setup =
        set_up_tbb(options.tbb, library.path, program, preload, variable(kPathVariable));
    if (!setup.error.empty()) {
      complain(setup.error);
      return {{}, kExitOwnFailure};
    }
    preload = setup.preload;
    setenv(kPathVariable, setup.library_path.c_str(), 1);
  }
  preload = prepend_preload(preloaded, preload);
  setenv(kPreloadVariable, preload.c_str(), 1);
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set("CORBEL_STATS", options.stats);
  set(kProfileVariable, options.profile);
  set(kLeaksVariable, options.leaks);
  set("CORBEL_CHECK", options.check);
  set(kHeapLimitVariable, options.heap_limit);
  set(kHardLimitVariable, options.hard_limit);
  set(kHugePagesVariable, options.huge_pages);
  const std::string& start = program.scripts.empty() ? program.path : program.scripts.front();
  if (options.verbose) {
    fmt::print(stderr, "corbel: {}={}\n", kPreloadVariable, preload);
    if (options.tbb != TbbMode::kOff) {
      fmt::print(stderr, "corbel: {}={}\n", kPathVariable, variable(kPathVariable));
    }
    for (const char* name : {"CORBEL_STATS", "CORBEL_CHECK", kProfileVariable, kLeaksVariable,
                             kHeapLimitVariable, kHardLimitVariable, kHugePagesVariable}) {
      if (const char* value = std::getenv(name)) fmt::print(stderr, "corbel: {}={}\n", name, value);
    }
    for (const std::string& script : program.scripts) {
      fmt::print(stderr, "corbel: {} is a script\n", script);
    }
    fmt::print(stderr, "corbel: starting {}\n", start);
  }
  return {start, 0};
}

int run(const RunOptions& options) {
  const PreparedRun prepared = prepare_run(options);
  if (prepared.error_code != 0) return prepared.error_code;
  return execute(options.command, prepared.path);
}

}  // namespace corbel::cli
