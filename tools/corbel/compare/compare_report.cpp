// SPDX-License-Identifier: Apache-2.0
// `corbel compare`: the table and the JSON file.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compare/compare.hpp"
#include "compare/machine.hpp"
#include "compare/metrics.hpp"
#include "compare/statistics.hpp"
#include "file/write_file.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr char kFormat[] = "corbel-compare-1";

// The kernel splits CPU time into user and system by ticks of some milliseconds. Below this many
// seconds the split is chance.
constexpr double kMinSplit = 0.1;

Summary summary_of(const Side& side, const Metric& metric) {
  std::vector<double> values;
  for (const RunResult& run : side.results) values.push_back(metric.value(run));
  return summarise(std::move(values));
}

// Columns on the screen: "µ" and "±" take two bytes and one column.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string right(const std::string& text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(width > used ? width - used : 0, ' ') + text;
}

const char* verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kLower:
      return "lower";
    case Verdict::kHigher:
      return "higher";
    case Verdict::kSame:
      return "same";
    case Verdict::kTooFewRuns:
      return "too few runs";
  }
  return "";
}

std::string show_ratio(const Summary& base, const Summary& side, double resolution) {
  const Verdict verdict = compare_summaries(base, side, resolution);
  if (base.median <= 0) return paint(right("-", 7), Colour::kDim);
  const std::string ratio = right(fmt::format("{:.2f}×", side.median / base.median), 7);
  switch (verdict) {
    case Verdict::kLower:
      return paint(ratio + " lower", Colour::kGood);
    case Verdict::kHigher:
      return paint(ratio + " higher", Colour::kBad);
    case Verdict::kSame:
      return paint(ratio + " within spread", Colour::kDim);
    case Verdict::kTooFewRuns:
      return paint(ratio + " too few runs", Colour::kDim);
  }
  return ratio;
}

std::size_t disturbed_runs(const Comparison& comparison) {
  std::size_t count = 0;
  for (const Side& side : comparison.sides) {
    for (const RunResult& run : side.results) count += disturbed(run) ? 1u : 0u;
  }
  return count;
}

nlohmann::json run_to_json(const Side& side, const RunResult& run, std::size_t sequence) {
  nlohmann::json json{
      {"sequence", sequence},         {"side", side.name},
      {"exit_code", run.exit_code},   {"wall_seconds", run.wall},
      {"cpu_seconds", run.cpu()},     {"user_seconds", run.user},
      {"system_seconds", run.system}, {"other_cpu_seconds", run.other_cpu + run.steal},
      {"disturbed", disturbed(run)}};
  write_memory(run, json);
  return json;
}

RunResult run_from_json(const nlohmann::json& json) {
  RunResult run;
  run.started = true;
  run.exit_code = json.at("exit_code");
  run.wall = json.at("wall_seconds");
  run.user = json.at("user_seconds");
  run.system = json.at("system_seconds");
  run.other_cpu = json.at("other_cpu_seconds");
  read_memory(json, run);
  return run;
}

// How many runs a side has.
std::size_t runs_per_side(const Comparison& comparison) {
  return comparison.sides.front().results.size();
}

}  // namespace

std::string show_seconds(double value) {
  if (value < 1e-3) return fmt::format("{:.0f} µs", value * 1e6);
  if (value < 1) return fmt::format("{:.1f} ms", value * 1e3);
  return fmt::format("{:.3f} s", value);
}

std::string show_bytes(double value) {
  if (value < 1024 * 1024) return fmt::format("{:.0f} KiB", value / 1024);
  if (value < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MiB", value / 1024 / 1024);
  return fmt::format("{:.2f} GiB", value / 1024 / 1024 / 1024);
}

std::string show_count(double value) {
  if (value < 10000) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.2f} M", value / 1e6);
}

void print_comparison(const CompareOptions& options, const Comparison& comparison) {
  std::string command;
  for (const std::string& word : options.command) command += (command.empty() ? "" : " ") + word;
  fmt::print("{}\n{}\n\n", paint(command, Colour::kBold),
             paint(fmt::format("{} runs a side, interleaved; median ± MAD; {}",
                               runs_per_side(comparison), machine_line()),
                   Colour::kDim));
  const Side& base = comparison.sides.front();
  std::string header = fmt::format("{:<13}{:>22}", "", base.name);
  for (std::size_t i = 1; i < comparison.sides.size(); ++i) {
    header += fmt::format("  {:>22}{:>8}{:<14}", comparison.sides[i].name, "ratio", "");
  }
  fmt::print("{}\n", paint(header, Colour::kBold));
  for (const Metric& metric : metrics()) {
    const Summary first = summary_of(base, metric);
    if (metric.detail && summary_of(base, metrics()[kCpuMetric]).median < kMinSplit) continue;
    const auto cell = [&](const Summary& summary) {
      return right(fmt::format("{} ± {}", metric.show(summary.median), metric.show(summary.mad)),
                   22);
    };
    std::string line = fmt::format("{:<13}{}", metric.name, cell(first));
    for (std::size_t i = 1; i < comparison.sides.size(); ++i) {
      const Summary other = summary_of(comparison.sides[i], metric);
      std::string ratio = show_ratio(first, other, metric.resolution);
      const std::size_t plain = 7 + 14;
      if (i + 1 < comparison.sides.size() && columns(ratio) < plain) {
        ratio += std::string(plain - columns(ratio), ' ');
      }
      line += fmt::format("  {} {}", cell(other), ratio);
    }
    fmt::print("{}\n", line);
  }
  fmt::print("\n{}\n",
             paint(fmt::format("ratio: that side divided by the system side, below 1 is better. {}",
                               kPeakMemoryNote),
                   Colour::kDim));
  for (const Side& side : comparison.sides) {
    if (side.tbb.empty()) continue;
    fmt::print("{}\n", paint(fmt::format("the {} side also has Corbel's {}", side.name, kTbbName),
                             Colour::kDim));
  }
  if (const std::size_t count = disturbed_runs(comparison); count > 0) {
    std::size_t total = 0;
    for (const Side& side : comparison.sides) total += side.results.size();
    fmt::print("{} other processes used the processor during {} of {} runs; trust the times less\n",
               paint("disturbed:", Colour::kWarn), count, total);
  }
  for (const std::string& warning : comparison.warnings) {
    fmt::print("{} {}\n", paint("note:", Colour::kWarn), warning);
  }
  std::fflush(stdout);
}

bool write_comparison(const CompareOptions& options, const Comparison& comparison) {
  nlohmann::json json;
  json["format"] = kFormat;
  json["corbel_version"] = CORBEL_VERSION;
  json["command"] = options.command;
  json["runs_per_side"] = runs_per_side(comparison);
  json["warmup_rounds"] = options.warmup;
  json["seed"] = options.seed;
  json["machine"] = machine_facts();
  json["warnings"] = comparison.warnings;
  json["problems"] = comparison.problems;
  json["disturbed_runs"] = disturbed_runs(comparison);

  json["runs"] = nlohmann::json::array();
  std::vector<std::size_t> next(comparison.sides.size(), 0);
  for (std::size_t i = 0; i < comparison.order.size(); ++i) {
    const Side& side = comparison.sides[comparison.order[i]];
    json["runs"].push_back(run_to_json(side, side.results[next[comparison.order[i]]++], i));
  }
  json["sides"] = nlohmann::json::array();
  const Side& base = comparison.sides.front();
  for (const Side& side : comparison.sides) {
    nlohmann::json entry{{"name", side.name}, {"library", side.library}};
    if (!side.tbb.empty()) entry["tbb"] = side.tbb;
    for (const Metric& metric : metrics()) {
      const Summary first = summary_of(base, metric);
      const Summary summary = summary_of(side, metric);
      nlohmann::json figures{{"median", summary.median},
                             {"mad", summary.mad},
                             {"min", summary.min},
                             {"max", summary.max}};
      if (&side != &base) {
        figures["ratio"] =
            first.median > 0 ? nlohmann::json(summary.median / first.median) : nlohmann::json();
        figures["verdict"] = verdict_word(compare_summaries(first, summary, metric.resolution));
      }
      entry["summary"][metric.key] = std::move(figures);
    }
    json["sides"].push_back(std::move(entry));
  }
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (options.json_file == "-") {
    fmt::print("{}\n", text);
    return true;
  }
  try {
    write_file(options.json_file, text + "\n");
    return true;
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return false;
  }
}

std::string read_comparison(const CompareOptions& options, Comparison& comparison) {
  std::ifstream file(options.json_file);
  if (!file) return {};
  const std::string other = fmt::format(
      "{}: --append: not a comparison of this command on these "
      "sides",
      options.json_file);
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    if (json.at("format") != kFormat || json.at("command") != options.command ||
        json.at("sides").size() != comparison.sides.size()) {
      return other;
    }
    for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
      const nlohmann::json& side = json.at("sides")[i];
      if (side.at("name") != comparison.sides[i].name ||
          side.at("library") != comparison.sides[i].library ||
          side.value("tbb", std::string()) != comparison.sides[i].tbb) {
        return other;
      }
    }
    for (const nlohmann::json& run : json.at("runs")) {
      const auto side = std::find_if(comparison.sides.begin(), comparison.sides.end(),
                                     [&](const Side& each) { return run.at("side") == each.name; });
      if (side == comparison.sides.end()) return other;
      side->results.push_back(run_from_json(run));
      comparison.order.push_back(static_cast<std::size_t>(side - comparison.sides.begin()));
    }
    comparison.warnings = json.at("warnings").get<std::vector<std::string>>();
    comparison.problems = json.at("problems").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return other;
  }
  return {};
}

}  // namespace corbel::cli
