// SPDX-License-Identifier: Apache-2.0
#include "compare/sides.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "check/check.hpp"
#include "program/library.hpp"
#include "program/program.hpp"
#include "program/tbb.hpp"
#include "terminal.hpp"

extern char** environ;

namespace corbel::cli {
namespace {

std::vector<std::string> environment_with(const std::string& preload,
                                          const std::string& library_path) {
  std::vector<std::string> list;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (text.rfind("LD_PRELOAD=", 0) != 0 && text.rfind("LD_LIBRARY_PATH=", 0) != 0) {
      list.emplace_back(text);
    }
  }
  if (!preload.empty()) list.push_back("LD_PRELOAD=" + preload);
  if (!library_path.empty()) list.push_back("LD_LIBRARY_PATH=" + library_path);
  return list;
}

// What the sides have in common: the environment without anything of Corbel.
struct Base {
  std::string preload, library_path;
};

Base base_environment() {
  return {without_corbel(variable(kPreloadVariable)),
          library_path_without_corbel(variable(kPathVariable))};
}

// The sides to run. Sets `error` when they cannot be set up.
std::vector<Side> make_sides(const CompareOptions& options, const std::string& library,
                             const Base& base, const TbbSetup& tbb, std::string& error) {
  std::vector<Side> sides;
  const auto add = [&](const std::string& name, const std::string& path) {
    Side side;
    side.name = name;
    side.library = path;
    side.environment = environment_with(
        path.empty() ? base.preload : prepend_preload(path, base.preload), base.library_path);
    sides.push_back(std::move(side));
  };
  add("system", "");
  add("corbel", library);
  if (!tbb.library.empty()) {
    sides.back().tbb = tbb.library;
    sides.back().environment =
        environment_with(prepend_preload(library, tbb.preload), tbb.library_path);
  }
  for (const std::string& text : options.with) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string path = text.substr(equals + 1);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
      error = fmt::format("--with {}: there is no file {}", name, path);
      return {};
    }
    const std::string full = std::filesystem::absolute(path, ignored).string();
    error = preload_path_problem(full);
    if (!error.empty()) return {};
    if (std::any_of(sides.begin(), sides.end(),
                    [&](const Side& side) { return side.name == name; })) {
      error = fmt::format("--with {}: there is a side of this name already", name);
      return {};
    }
    add(name, full);
  }
  return sides;
}

}  // namespace

Sides prepare_sides(const CompareOptions& options) {
  const LibrarySearch library = find_library();
  if (!library.error.empty()) return no_sides(library.error, kExitOwnFailure);
  const Program program = examine_program(options.command.front(), library.path);
  if (program.error_code != 0) return no_sides(program.error, program.error_code);
  if (const std::string path = preload_path_problem(library.path); !path.empty()) {
    return no_sides(path, kExitOwnFailure);
  }
  const Base base = base_environment();
  TbbSetup tbb;
  if (options.tbb != TbbMode::kOff) {
    tbb = set_up_tbb(options.tbb, library.path, program, base.preload, base.library_path);
    if (!tbb.error.empty()) return no_sides(tbb.error, kExitOwnFailure);
  }
  Sides result;
  std::string problem;
  result.sides = make_sides(options, library.path, base, tbb, problem);
  if (!problem.empty()) return no_sides(problem, kExitUsage);
  for (const Obstacle& obstacle : program.obstacles) {
    if (!options.force) {
      return no_sides(
          fmt::format("{}: {} (--force compares all the same)", program.path, obstacle.text),
          kExitCannotExecute);
    }
    result.warnings.push_back(obstacle.text);
  }
  if (program.obstacles.empty()) {
    // Without an active Corbel the comparison would be of the system's malloc with itself.
    const CheckReport report = check_command(options.command, false, options.tbb);
    if (report.error_code == 0 && !report.active && report.mode == "run") {
      for (const Obstacle& reason : report.reasons) result.warnings.push_back(reason.text);
    }
    if (options.tbb != TbbMode::kOff && report.error_code == 0 && report.active) {
      for (const Obstacle& reason : explain_tbb(report.tbb)) {
        result.warnings.push_back(reason.text);
      }
      if (!report.tbb) {
        result.warnings.push_back(
            fmt::format("{} does not load {} when it starts",
                        report.script ? "the script's interpreter" : "the program", kTbbName));
      }
    }
    if (report.mode == "as-is" && report.how.find("linked") != std::string::npos) {
      result.warnings.push_back(
          "the program is linked with a replacement already, so no side runs on the system's "
          "malloc");
    }
  }
  result.start = program.scripts.empty() ? program.path : program.scripts.front();
  return result;
}

}  // namespace corbel::cli
