// SPDX-License-Identifier: Apache-2.0
#include "compare/sides.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "check/check.hpp"
#include "program/windows/library.hpp"
#include "program/windows/program.hpp"
#include "terminal.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {

Sides prepare_sides(const CompareOptions& options) {
  if (options.tbb != TbbMode::kOff) {
    return no_sides("--tbb is not there on Windows: build the program with Corbel's headers",
                    kExitUsage);
  }
  const LibrarySearch library = find_library();
  if (!library.error.empty()) return no_sides(library.error, kExitOwnFailure);
  const Program program = examine_program(options.command.front());
  if (program.error_code != 0) return no_sides(program.error, program.error_code);
  Sides result;
  const auto add = [&](const std::string& name, const std::string& path) {
    Side side;
    side.name = name;
    side.library = path;
    side.first_library = path;
    result.sides.push_back(std::move(side));
  };
  add("system", "");
  add("corbel", library.path);
  for (const std::string& text : options.with) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string path = text.substr(equals + 1);
    std::error_code error;
    if (!std::filesystem::is_regular_file(wide(path), error)) {
      return no_sides(fmt::format("--with {}: there is no file {}", name, path), kExitUsage);
    }
    if (std::any_of(result.sides.begin(), result.sides.end(),
                    [&](const Side& side) { return side.name == name; })) {
      return no_sides(fmt::format("--with {}: there is a side of this name already", name),
                      kExitUsage);
    }
    add(name, narrow(std::filesystem::absolute(wide(path)).make_preferred().native()));
  }
  for (const Obstacle& obstacle : program.obstacles) {
    if (!options.force) {
      return no_sides(
          fmt::format("{}: {} (--force compares all the same)", program.path, obstacle.text),
          kExitCannotExecute);
    }
    result.warnings.push_back(obstacle.text);
  }
  if (program.is_linked) {
    result.warnings.push_back(
        "the program is linked with a replacement already, so no side runs on the system's malloc");
  } else if (program.obstacles.empty()) {
    // Without an active Corbel the comparison would be of the system's malloc with itself.
    const CheckReport report = check_command(options.command, false, TbbMode::kOff);
    if (report.error_code == 0 && !report.active) {
      for (const Obstacle& reason : report.reasons) result.warnings.push_back(reason.text);
    }
  }
  result.start = program.path;
  return result;
}

}  // namespace corbel::cli
