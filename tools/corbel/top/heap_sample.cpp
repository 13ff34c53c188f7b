// SPDX-License-Identifier: Apache-2.0
#include "top/heap_sample.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace corbel::cli {
namespace {

using nlohmann::json;

double seconds_between(const HeapSample& before, const HeapSample& now) {
  return std::chrono::duration<double>(now.time - before.time).count();
}

double growth(std::uint64_t before, std::uint64_t now, double seconds) {
  return now > before && seconds > 0 ? double(now - before) / seconds : 0;
}

}  // namespace

Gauges gauges_of(const json& stats) {
  const auto field = [&](const char* name) { return stats.value(name, std::uint64_t(0)); };
  const auto less = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  Gauges g{};
  g.metadata = field("metadata");
  g.retained = field("free_purged");
  g.mapped = less(field("mapped"), g.retained) + field("metadata_mapped");
  // Of the address space for blocks, what is neither decommitted nor in free spans. A snapshot that
  // was taken while pages were committed may be short of them.
  g.allocated = field("live");
  g.active =
      std::max(g.allocated, less(field("mapped"), field("uncommitted") + field("free_resident")));
  g.resident = g.active + field("free_resident") + g.metadata;
  g.mapped = std::max(g.mapped, g.resident);
  return g;
}

std::optional<HeapSample> take_sample(int pid, const AskOptions& options, std::string& error) {
  const Answer answer = ask(pid, "state", options);
  if (!answer.is_complete()) {
    error = answer.error;
    return std::nullopt;
  }
  HeapSample sample;
  sample.time = std::chrono::steady_clock::now();
  json state = json::parse(answer.content, nullptr, false);
  const auto process = read_process(pid);
  if (!process) {
    error = fmt::format("process {} has ended", pid);
    return std::nullopt;
  }
  if (!state.is_object() || !state.contains("heap") || !state["heap"].is_object()) {
    error = fmt::format("process {} gave an answer that this corbel does not understand", pid);
    return std::nullopt;
  }
  sample.process = *process;
  sample.stats = std::move(state["heap"]);
  if (state["tasks"].is_object()) sample.tasks = std::move(state["tasks"]);
  sample.gauges = gauges_of(sample.stats);
  return sample;
}

double rate_of(const HeapSample* before, const HeapSample& now, const char* field) {
  if (before == nullptr) return 0;
  return growth((*before)[field], now[field], seconds_between(*before, now));
}

double task_rate_of(const HeapSample* before, const HeapSample& now, const char* field) {
  if (before == nullptr || !before->tasks) return 0;
  return growth(before->task_figure(field), now.task_figure(field), seconds_between(*before, now));
}

std::string sample_to_json(const HeapSample* before, const HeapSample& now) {
  const auto rounded = [](double value) { return double(std::int64_t(value * 1000 + 0.5)) / 1000; };
  json object;
  object["time"] = rounded(
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  object["pid"] = now.process.pid;
  object["command"] = now.process.command;
  for (const auto& gauge : kGauges) object["gauges"][gauge.name] = now.gauges.*gauge.value;
  if (before != nullptr) {
    for (const char* field : {"map_calls", "purge_calls", "limit_searches", "heaps_taken_over"}) {
      object["per_second"][field] = rounded(rate_of(before, now, field));
    }
    if (now.tasks) object["per_second"]["stolen"] = rounded(task_rate_of(before, now, "stolen"));
  }
  object["stats"] = now.stats;
  if (now.tasks) object["tasks"] = *now.tasks;
  // A name may hold bytes that are no UTF-8.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace corbel::cli
