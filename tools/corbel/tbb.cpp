// SPDX-License-Identifier: Apache-2.0
#include "tbb.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "check.hpp"
#include "library.hpp"
#include "loader.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

constexpr char kClassicName[] = "libtbb.so.2";
// tbb::detail::r1::spawn, which a program cannot do without.
constexpr char kSpawn[] = "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE";

bool same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  return fs::equivalent(one, other, error);
}

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

// Whether the loader takes another libtbb.so.12 than `library` although the library path leads to
// `library`: a DT_RPATH comes first, that of an object or that of the program itself. Only the
// latter is asked for what is loaded later.
bool path_does_not_lead(const Program& program, const std::string& preload,
                        const std::string& library_path, const std::string& library) {
  LoaderQuestion question;
  question.path = program.path;
  question.argv0 = program.path;
  question.library_path = library_path;
  for (const std::string& preloaded : {preload, std::string(kTbbName)}) {
    question.preload = preloaded;
    for (const std::string& object : ask_loader(question).objects) {
      if (base_name(object) == kTbbName) return !same_file(object, library);
    }
  }
  return false;
}

bool is_interface(std::string_view symbol) {
  return symbol.rfind("_ZN3tbb6detail2r1", 0) == 0 || symbol.rfind("_ZTIN3tbb6detail2r1", 0) == 0 ||
         symbol.rfind("_ZTVN3tbb6detail2r1", 0) == 0 || symbol.rfind("TBB_runtime_", 0) == 0;
}

std::string readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : symbol;
}

bool is_named(const LoadedObject& object, const char* name) {
  return object.image.soname() == name || base_name(object.path) == name;
}

bool needs(const LoadedObject& object, const char* name) {
  const auto& needed = object.image.needed();
  return std::find(needed.begin(), needed.end(), name) != needed.end();
}

void find_missing(const std::vector<LoadedObject>& objects, TbbReport& report) {
  for (const LoadedObject& object : objects) {
    object.image.for_each_import([&](const std::string& symbol) {
      if (!is_interface(symbol)) return;
      const auto is_it = [&](const MissingName& each) { return each.symbol == symbol; };
      if (std::any_of(report.missing.begin(), report.missing.end(), is_it) ||
          std::any_of(objects.begin(), objects.end(), [&](const LoadedObject& each) {
            return each.image.find(symbol).has_value();
          })) {
        return;
      }
      report.missing.push_back({symbol, readable(symbol), object.path});
    });
  }
}

}  // namespace

TbbSetup set_up_tbb(TbbMode mode, const std::string& replacement, const Program& program,
                    const std::string& preload, const std::string& library_path) {
  TbbSetup setup;
  const LibrarySearch library = find_tbb_library(replacement);
  setup.error = library.error;
  setup.library = library.path;
  if (!setup.error.empty()) return setup;
  const std::string folder = fs::path(library.path).parent_path().string();
  setup.error = library_path_problem(folder);
  if (!setup.error.empty()) return setup;
  setup.library_path = prepend_library_path(folder, library_path);
  setup.preload = preload;
  if (mode == TbbMode::kPreload ||
      (program.obstacles.empty() &&
       path_does_not_lead(program, preload, setup.library_path, library.path))) {
    setup.error = preload_path_problem(library.path);
    setup.preload = prepend_preload(library.path, preload);
  }
  return setup;
}

std::optional<TbbReport> find_tbb(const std::vector<LoadedObject>& objects) {
  TbbReport report;
  const auto first_named = [&](const char* name) {
    return std::find_if(objects.begin(), objects.end(),
                        [&](const LoadedObject& object) { return is_named(object, name); });
  };
  const auto library = first_named(kTbbName);
  const bool needed = std::any_of(objects.begin(), objects.end(), [](const LoadedObject& object) {
    return needs(object, kTbbName);
  });
  // A preload that no object needs is no use of TBB.
  if (library != objects.end() && (needed || !library->preloaded)) {
    report.path = library->path;
    const auto version = corbel_tbb_version(library->image);
    report.corbel = version.has_value();
    report.version = version ? *version : file_text_after(library->real_path, "TBB: VERSION\t\t");
  }
  if (const auto classic = first_named(kClassicName); classic != objects.end()) {
    report.classic = classic->path;
  }
  for (const LoadedObject& object : objects) {
    if (report.inside.empty() && !is_named(object, kTbbName) && object.image.find(kSpawn)) {
      report.inside = object.path;
    }
  }
  if (report.inside.empty() && !objects.empty() &&
      has_private_definition(objects.front().real_path, kSpawn)) {
    report.inside = objects.front().path;
  }
  find_missing(objects, report);
  if (report.path.empty() && report.classic.empty() && report.inside.empty() &&
      report.missing.empty()) {
    return std::nullopt;
  }
  return report;
}

std::vector<Obstacle> explain_tbb(const std::optional<TbbReport>& report) {
  std::vector<Obstacle> reasons;
  if (!report) return reasons;
  if (!report->path.empty() && !report->corbel) {
    reasons.push_back({"tbb-other",
                       fmt::format("its {} is not Corbel's: {}", kTbbName, report->path),
                       "start the program with: corbel run --tbb -- CMD"});
  } else if (report->path.empty() && !report->inside.empty()) {
    reasons.push_back(
        {"tbb-inside",
         fmt::format("oneTBB's library is inside {}, where nothing replaces it", report->inside),
         {}});
  } else if (report->path.empty() && !report->classic.empty()) {
    reasons.push_back({"tbb-classic",
                       fmt::format("its {} has the interface of TBB 2020, which Corbel has for "
                                   "programs that are compiled with its headers",
                                   kClassicName),
                       {}});
  }
  if (!report->missing.empty()) {
    reasons.push_back({"tbb-names",
                       fmt::format("nothing defines {}, which {} calls",
                                   report->missing.front().name, report->missing.front().object),
                       {}});
  }
  return reasons;
}

std::vector<std::string> tbb_lines(const TbbReport& report) {
  std::vector<std::string> lines;
  if (!report.path.empty()) {
    const std::string version =
        report.version.empty() ? std::string() : fmt::format(", version {}", report.version);
    lines.push_back(report.corbel
                        ? fmt::format("{} is Corbel's{}: {}", kTbbName, version, report.path)
                    : report.version.empty()
                        ? fmt::format("{} is not Corbel's: {}", kTbbName, report.path)
                        : fmt::format("{} is oneTBB's{}: {}", kTbbName, version, report.path));
  }
  if (!report.inside.empty()) {
    lines.push_back(fmt::format("oneTBB's library is inside {}", report.inside));
  }
  if (!report.classic.empty()) {
    lines.push_back(fmt::format("{} is TBB 2020's, which --tbb does not replace: {}", kClassicName,
                                report.classic));
  }
  if (!report.missing.empty()) {
    const std::size_t shown = std::min<std::size_t>(report.missing.size(), 3);
    std::string names;
    for (std::size_t i = 0; i < shown; ++i) {
      names += (i == 0 ? "" : ", ") + report.missing[i].name;
    }
    if (report.missing.size() > shown) {
      names += fmt::format(" and {} more", report.missing.size() - shown);
    }
    lines.push_back("no library defines these names that the program calls: " + names);
  }
  return lines;
}

}  // namespace corbel::cli
