// SPDX-License-Identifier: Apache-2.0
#include "program/tbb_report.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace corbel::cli {
namespace {

constexpr char kClassicName[] = "libtbb.so.2";

std::string describe(const TbbLibrary& library) {
  const std::string version =
      library.version.empty() ? std::string() : fmt::format(", version {}", library.version);
  const char* whose = library.corbel ? "Corbel's" : version.empty() ? "not Corbel's" : "oneTBB's";
  return fmt::format("{} is {}{}: {}", kTbbName, whose, version, library.path);
}

std::string describe_inside(const TbbReport& report) {
  return fmt::format("oneTBB's library is inside {}", report.inside);
}

std::string describe_classic(const TbbReport& report) {
  return fmt::format("{} is TBB 2020's, which --tbb does not replace: {}", kClassicName,
                     report.classic);
}

std::string describe_missing(const TbbReport& report) {
  const std::size_t shown = std::min<std::size_t>(report.missing.size(), 3);
  std::string names;
  for (std::size_t i = 0; i < shown; ++i) names += (i == 0 ? "" : ", ") + report.missing[i].name;
  if (report.missing.size() > shown) {
    names += fmt::format(" and {} more", report.missing.size() - shown);
  }
  return fmt::format("no library defines what {} calls: {}", report.missing.front().object, names);
}

// A libtbb.so.12 that is not Corbel's and that the program's calls may lead to.
const TbbLibrary* used_other(const TbbReport& report) {
  if (!report.libraries.empty() && report.libraries.front().corbel &&
      report.libraries.front().preloaded) {
    return nullptr;
  }
  for (const TbbLibrary& library : report.libraries) {
    if (!library.corbel) return &library;
  }
  return nullptr;
}

}  // namespace

std::vector<Obstacle> explain_tbb(const std::optional<TbbReport>& report) {
  std::vector<Obstacle> reasons;
  if (!report) return reasons;
  if (const TbbLibrary* other = used_other(*report)) {
    const bool later = other != &report->libraries.front();
    reasons.push_back({"tbb-other", describe(*other),
                       fmt::format("start the program with: corbel run --tbb{} -- CMD",
                                   later ? "=preload" : "")});
  } else if (report->libraries.empty() && !report->inside.empty()) {
    reasons.push_back({"tbb-inside", describe_inside(*report) + ", where nothing replaces it",
                       "rebuild the program with Corbel's headers, or with a shared oneTBB"});
  } else if (report->libraries.empty() && !report->classic.empty()) {
    reasons.push_back(
        {"tbb-classic", describe_classic(*report), "recompile the program with Corbel's headers"});
  }
  if (!report->missing.empty()) {
    reasons.push_back(
        {"tbb-names", describe_missing(*report), "recompile the program with Corbel's headers"});
  }
  return reasons;
}

std::vector<std::string> tbb_lines(const TbbReport& report, const std::vector<Obstacle>& reasons) {
  std::vector<std::string> lines;
  const auto explained = [&](const char* id) {
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](const Obstacle& reason) { return reason.id == id; });
  };
  const TbbLibrary* other = explained("tbb-other") ? used_other(report) : nullptr;
  for (const TbbLibrary& library : report.libraries) {
    if (&library != other) lines.push_back(describe(library));
  }
  if (!report.inside.empty() && !explained("tbb-inside")) lines.push_back(describe_inside(report));
  if (!report.classic.empty() && !explained("tbb-classic")) {
    lines.push_back(describe_classic(report));
  }
  if (!report.missing.empty() && !explained("tbb-names")) lines.push_back(describe_missing(report));
  return lines;
}

}  // namespace corbel::cli
