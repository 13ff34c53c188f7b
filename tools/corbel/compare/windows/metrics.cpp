// SPDX-License-Identifier: Apache-2.0
#include "compare/metrics.hpp"

#include <nlohmann/json.hpp>

namespace corbel::cli {
namespace {

// How many pages of a DLL are resident is chance.
constexpr double kMemoryResolution = 128 * 1024;
constexpr double kFaultResolution = 16;

constexpr auto kMetrics = after_times({
    {"peak_working_set_bytes", "peak memory",
     [](const RunResult& run) { return static_cast<double>(run.peak_rss); }, show_bytes,
     kMemoryResolution},
    {"peak_commit_bytes", "peak commit",
     [](const RunResult& run) { return static_cast<double>(run.peak_commit); }, show_bytes,
     kMemoryResolution},
    {"page_faults", "page faults",
     [](const RunResult& run) { return static_cast<double>(run.minor_faults); }, show_count,
     kFaultResolution},
});

}  // namespace

const char kPeakMemoryNote[] =
    "peak memory: the\nworking set of the process itself; peak commit: the memory that the system "
    "had\npromised it.";

std::span<const Metric> metrics() { return kMetrics; }

void write_memory(const RunResult& run, nlohmann::json& json) {
  json["peak_working_set_bytes"] = run.peak_rss;
  json["peak_working_set_exact"] = run.peak_exact;
  json["peak_commit_bytes"] = run.peak_commit;
  json["page_faults"] = run.minor_faults;
}

void read_memory(const nlohmann::json& json, RunResult& run) {
  run.peak_rss = json.at("peak_working_set_bytes");
  run.peak_exact = json.at("peak_working_set_exact");
  run.peak_commit = json.at("peak_commit_bytes");
  run.minor_faults = json.at("page_faults");
}

}  // namespace corbel::cli
