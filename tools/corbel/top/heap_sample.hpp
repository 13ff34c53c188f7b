// SPDX-License-Identifier: Apache-2.0
// What one look at a running process tells of its heap and its tasks.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "process/control.hpp"

namespace corbel::cli {

// The six gauges that allocators are watched by, in bytes, as jemalloc defines stats.allocated and
// its siblings. docs/guide/monitoring.md has the definitions.
// allocated <= active <= resident <= mapped.
struct Gauges {
  std::uint64_t allocated, active, resident, retained, mapped, metadata;
};
inline constexpr struct {
  const char* name;
  std::uint64_t Gauges::* value;
  const char* help;
} kGauges[] = {
    {"allocated", &Gauges::allocated, "Bytes in blocks that the program holds."},
    {"active", &Gauges::active, "Bytes in resident pages that have blocks or are ready for them."},
    {"resident", &Gauges::resident,
     "Bytes that are resident because of the allocator: active, unused pages, and metadata."},
    {"retained", &Gauges::retained,
     "Bytes of address space that is kept without memory, for later use."},
    {"mapped", &Gauges::mapped, "Bytes of address space in use: all but what is retained."},
    {"metadata", &Gauges::metadata, "Bytes in the allocator's own tables."},
};

// `stats` is what corbel_heap_stats_json() writes.
Gauges gauges_of(const nlohmann::json& stats);

struct HeapSample {
  ProcessFacts process;
  std::chrono::steady_clock::time_point time;
  nlohmann::json stats;                 // of corbel_heap_stats_json()
  std::optional<nlohmann::json> tasks;  // null: the process runs no tasks of Corbel
  Gauges gauges{};

  std::uint64_t operator[](const char* field) const { return stats.value(field, std::uint64_t(0)); }
  std::uint64_t task_figure(const char* field) const {
    return tasks ? tasks->value(field, std::uint64_t(0)) : 0;
  }
};

// Asks the process. On failure returns nullopt and stores the reason, one line, in `error`.
std::optional<HeapSample> take_sample(int pid, const AskOptions& options, std::string& error);

// By how much a count grew per second from one sample to the next. 0 without an earlier one.
double rate_of(const HeapSample* before, const HeapSample& now, const char* field);
double task_rate_of(const HeapSample* before, const HeapSample& now, const char* field);

// One object, without a line end: time, pid, command, gauges, rates, and stats and tasks as they
// are.
std::string sample_to_json(const HeapSample* before, const HeapSample& now);

}  // namespace corbel::cli
