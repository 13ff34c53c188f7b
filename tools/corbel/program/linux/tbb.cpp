// SPDX-License-Identifier: Apache-2.0
#include "program/tbb.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "program/library.hpp"
#include "program/loaded_object.hpp"
#include "program/loader.hpp"

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
    const LoaderSays says = ask_loader(question);
    if (!says.ran) return true;  // a preload leads there in any case
    for (const std::string& object : says.objects) {
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
  const bool needed = std::any_of(objects.begin(), objects.end(), [](const LoadedObject& object) {
    return needs(object, kTbbName);
  });
  for (const LoadedObject& object : objects) {
    // A preload that no object needs is no use of TBB.
    if (!is_named(object, kTbbName) || (object.preloaded && !needed)) continue;
    TbbLibrary library;
    library.path = object.path;
    const auto version = corbel_tbb_version(object.image);
    library.corbel = version.has_value();
    library.version = version ? *version : file_text_after(object.real_path, "TBB: VERSION\t\t");
    library.preloaded = object.preloaded;
    report.libraries.push_back(std::move(library));
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
  if (report.libraries.empty() && report.classic.empty() && report.inside.empty() &&
      report.missing.empty()) {
    return std::nullopt;
  }
  return report;
}

}  // namespace corbel::cli
