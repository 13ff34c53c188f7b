// SPDX-License-Identifier: Apache-2.0
// What `corbel compare` shows of the runs. The systems differ in it.
#pragma once

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

// In the order in which they are shown.
std::span<const Metric> metrics();
inline constexpr std::size_t kCpuMetric = 1;  // where the CPU time is

// What "peak memory" is, below the table.
extern const char kPeakMemoryNote[];

// The figures of a run that are not of its time, in the file of a comparison. The second throws
// nlohmann's exceptions.
void write_memory(const RunResult& run, nlohmann::json& json);
void read_memory(const nlohmann::json& json, RunResult& run);

std::string show_seconds(double value);
std::string show_bytes(double value);
std::string show_count(double value);

}  // namespace corbel::cli
