// SPDX-License-Identifier: Apache-2.0
// What `corbel compare` shows of the runs. The systems differ in it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "compare/measure.hpp"

namespace corbel::cli {

struct Metric {
  const char* key;
  const char* name;
  double (*value)(const RunResult&);
  std::string (*show)(double);
  double resolution = 0;  // a difference up to this says nothing
  bool detail = false;    // shown only when the CPU time is long enough to split
};

std::string show_seconds(double value);
std::string show_bytes(double value);
std::string show_count(double value);

// The first of them, which every system has.
inline constexpr Metric kTimes[] = {
    {"wall_seconds", "wall time", [](const RunResult& run) { return run.wall; }, show_seconds},
    {"cpu_seconds", "CPU time", [](const RunResult& run) { return run.cpu(); }, show_seconds},
    {"user_seconds", "  user", [](const RunResult& run) { return run.user; }, show_seconds, 0,
     true},
    {"system_seconds", "  system", [](const RunResult& run) { return run.system; }, show_seconds, 0,
     true},
};
inline constexpr std::size_t kCpuMetric = 1;  // where the CPU time is

// kTimes, and after them those of a system.
template <std::size_t N>
constexpr std::array<Metric, std::size(kTimes) + N> after_times(const Metric (&others)[N]) {
  std::array<Metric, std::size(kTimes) + N> all{};
  std::copy_n(others, N, std::copy(std::begin(kTimes), std::end(kTimes), all.begin()));
  return all;
}

// In the order in which they are shown.
std::span<const Metric> metrics();

// What "peak memory" is, below the table.
extern const char kPeakMemoryNote[];

// The figures of a run that are not of its time, in the file of a comparison. The second throws
// nlohmann's exceptions.
void write_memory(const RunResult& run, nlohmann::json& json);
void read_memory(const nlohmann::json& json, RunResult& run);

}  // namespace corbel::cli
