// SPDX-License-Identifier: Apache-2.0
// Checks a command without running it: the system's loader loads the command with the replacement,
// resolves every symbol and reports each binding.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "check/linux/judge.hpp"
#include "program/library.hpp"
#include "program/loader.hpp"
#include "program/program.hpp"
#include "program/tbb.hpp"

namespace corbel::cli {
namespace {

bool links_corbel(const std::string& path) {
  const auto image = DynamicImage::from_file(path);
  if (!image) return false;
  const auto& needed = image->needed();
  if (std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
        return name.rfind("libcorbelmalloc_proxy", 0) == 0 ||
               name.rfind("libtbbmalloc_proxy", 0) == 0;
      })) {
    return true;
  }
  return image->find("malloc").has_value() && file_is_corbel(path);
}

void explain_complaints(const LoaderSays& says, CheckReport& report) {
  for (const std::string& complaint : says.complaints) {
    const bool about_corbel = complaint.find("corbelmalloc") != std::string::npos ||
                              complaint.find("tbbmalloc_proxy") != std::string::npos;
    const bool missing = complaint.find("cannot open shared object file") != std::string::npos;
    if (about_corbel && !report.active) {
      report.reasons.insert(report.reasons.begin(),
                            {missing ? "missing-file" : "loader-refused",
                             fmt::format("the loader refused the library: {}", complaint),
                             {}});
    } else {
      report.notes.push_back(fmt::format("the loader says: {}", complaint));
    }
  }
  for (const std::string& name : says.missing) {
    report.notes.push_back(
        fmt::format("a library of the program is missing: {} (it would not start)", name));
  }
}

}  // namespace

CheckReport check_command(const std::vector<std::string>& command, bool as_is, TbbMode tbb) {
  CheckReport report = new_report();
  const std::string old_preload = variable(kPreloadVariable);
  const LibrarySearch library = find_library();

  const Program program = examine_program(command.front(), library.path);
  report.target = program.path.empty() ? command.front() : program.path;
  if (program.error_code != 0) {
    report.error = program.error;
    report.error_code = 2;
    return report;
  }
  if (!program.scripts.empty()) {
    report.script = true;
    report.notes.push_back(fmt::format(
        "{} is a script: its interpreter was checked; programs it starts inherit the preload",
        program.scripts.front()));
  }

  const auto entries = preload_entries(old_preload);
  const bool preloaded = std::any_of(entries.begin(), entries.end(), [](const std::string& entry) {
    return is_corbel_library(entry);
  });
  const bool linked = links_corbel(program.path);
  std::string preload = old_preload;
  if (as_is || preloaded || linked) {
    report.mode = "as-is";
    report.how = linked      ? "linked with the replacement"
                 : preloaded ? fmt::format("started as it is here, LD_PRELOAD={}", old_preload)
                             : "started as it is here, without corbel run";
  } else {
    report.mode = "run";
    preload = prepend_preload(library.path.empty() ? kProxyName : library.path, old_preload);
    report.how = fmt::format("started by corbel run, LD_PRELOAD={}", preload);
    if (library.path.empty()) report.reasons.push_back({"missing-file", library.error, {}});
    if (const std::string problem = preload_path_problem(library.path); !problem.empty()) {
      report.reasons.push_back({"path", problem, "move the library, or link to it from elsewhere"});
    }
  }
  if (!program.obstacles.empty() && program.obstacles.front().id == "static" &&
      file_is_corbel(program.path)) {
    report.mode = "as-is";
    report.how = "a static binary with the replacement inside, where nothing is left to resolve";
    report.active = true;
    return report;
  }
  std::optional<std::string> library_path;
  if (tbb != TbbMode::kOff && !as_is && !library.path.empty()) {
    const TbbSetup setup =
        set_up_tbb(tbb, library.path, program, old_preload, variable(kPathVariable));
    if (!setup.error.empty()) {
      report.tbb_problem = setup.error;
    } else {
      preload = prepend_preload(library.path, setup.preload);
      library_path = setup.library_path;
      if (!linked) report.mode = "run";
      report.how = fmt::format("{}started by corbel run --tbb{}, {}={}, {}={}",
                               linked ? "linked with the replacement, " : "",
                               tbb == TbbMode::kPreload ? "=preload" : "", kPreloadVariable,
                               preload, kPathVariable, setup.library_path);
    }
  }
  for (const Obstacle& obstacle : program.obstacles) {
    // A linked library needs no preload, so only the obstacles for the loader itself matter.
    if (linked && obstacle.id != "loader" && obstacle.id != "architecture") continue;
    report.reasons.push_back(obstacle);
  }
  if (!report.reasons.empty()) return report;

  LoaderQuestion question{program.path, command.front(), preload, library_path, {}};
  for (const SymbolReport& symbol : report.symbols) question.symbols.insert(symbol.symbol);
  LoaderSays says = ask_loader(question);
  const auto given = preload_entries(preload);

  std::vector<LoadedObject> objects;
  const auto add = [&](const std::string& path) {
    auto image = DynamicImage::from_file(path);
    if (!image) return;
    LoadedObject object;
    object.path = path;
    object.real_path = path;
    object.preloaded = std::find(given.begin(), given.end(), path) != given.end();
    object.image = std::move(*image);
    object.corbel = object_is_corbel(object);
    objects.push_back(std::move(object));
  };
  add(program.path);
  for (const std::string& path : says.objects) add(path);
  if (!says.ran || objects.size() < 2) {
    report.reasons.push_back(
        {"loader", fmt::format("the loader could not be asked about {}", program.path), {}});
    return report;
  }
  for (SymbolReport& symbol : report.symbols) {
    for (Binding& binding : says.bindings[symbol.symbol]) {
      if (binding.from == command.front()) binding.from = program.path;
      if (binding.to == command.front()) binding.to = program.path;
      symbol.bindings.push_back(std::move(binding));
    }
  }
  judge(objects, report);
  report.tbb = find_tbb(objects);
  explain_complaints(says, report);
  return report;
}

}  // namespace corbel::cli
