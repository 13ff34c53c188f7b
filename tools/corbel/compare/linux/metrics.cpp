// SPDX-License-Identifier: Apache-2.0
#include "compare/metrics.hpp"

#include <nlohmann/json.hpp>

namespace corbel::cli {
namespace {

// A file is mapped with as many of its pages as the page cache happens to hold. Memory and faults
// vary by about this much for that reason alone.
constexpr double kRssResolution = 128 * 1024;
constexpr double kFaultResolution = 16;

constexpr auto kMetrics = after_times({
    {"peak_rss_bytes", "peak memory",
     [](const RunResult& run) { return static_cast<double>(run.peak_rss); }, show_bytes,
     kRssResolution},
    {"minor_faults", "minor faults",
     [](const RunResult& run) { return static_cast<double>(run.minor_faults); }, show_count,
     kFaultResolution},
    {"major_faults", "major faults",
     [](const RunResult& run) { return static_cast<double>(run.major_faults); }, show_count},
});

}  // namespace

const char kPeakMemoryNote[] =
    "peak memory: the largest\nprocess of the command (VmHWM), not the sum of several.";

std::span<const Metric> metrics() { return kMetrics; }

void write_memory(const RunResult& run, nlohmann::json& json) {
  json["peak_rss_bytes"] = run.peak_rss;
  json["peak_rss_exact"] = run.peak_exact;
  json["rss_floor_bytes"] = run.rss_floor;
  json["minor_faults"] = run.minor_faults;
  json["major_faults"] = run.major_faults;
}

void read_memory(const nlohmann::json& json, RunResult& run) {
  run.peak_rss = json.at("peak_rss_bytes");
  run.peak_exact = json.at("peak_rss_exact");
  run.rss_floor = json.at("rss_floor_bytes");
  run.minor_faults = json.at("minor_faults");
  run.major_faults = json.at("major_faults");
}

}  // namespace corbel::cli
