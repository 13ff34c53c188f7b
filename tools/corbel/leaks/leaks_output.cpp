// SPDX-License-Identifier: Apache-2.0
// What `corbel leaks` prints.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "leaks/leaks_command.hpp"
#include "pprof/profile.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr LeakKind kAllKinds[] = {LeakKind::kDefinite, LeakKind::kPossible, LeakKind::kReachable};

const char* phrase_of(LeakKind kind) {
  switch (kind) {
    case LeakKind::kDefinite:
      return "definitely leaked";
    case LeakKind::kPossible:
      return "possibly leaked";
    default:
      return "still reachable";
  }
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t i = 0;
  while (amount >= 1024 && i + 1 < std::size(units)) {
    amount /= 1024;
    ++i;
  }
  return fmt::format("{:.1f} {}", amount, units[i]);
}

std::string count_text(std::uint64_t n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string place_text(const LeakFrame& frame) {
  if (!frame.file.empty()) return fmt::format("{}:{}", frame.file, frame.line);
  return frame.module;
}

void print_place(const LeakPlace& place) {
  std::string text = fmt::format(
      "{}{} in {}{} {}", place.samples != 0 ? "about " : "", size_text(place.bytes),
      count_text(place.blocks, "block"),
      place.samples != 0 ? fmt::format(" ({})", count_text(place.samples, "sample")) : "",
      phrase_of(place.kind));
  if (place.indirect_blocks != 0) {
    text +=
        fmt::format(", and with {} {} in {}", place.blocks == 1 ? "it" : "them",
                    size_text(place.indirect_bytes), count_text(place.indirect_blocks, "block"));
  }
  const Colour colour = place.kind == LeakKind::kDefinite ? Colour::kBad : Colour::kBold;
  tell(fmt::format("{}, allocated at\n", paint(text, colour, 2)));
  if (place.stack.empty()) tell("    an unknown place\n");
  for (const LeakFrame& frame : place.stack) {
    tell(fmt::format("    {}  {}\n", printable(frame.function),
                     paint(printable(place_text(frame)), Colour::kDim, 2)));
  }
  tell("\n");
}

std::string sampled_summary(const JudgedReport& judged) {
  const LeakTotals& lost = judged.totals[0];
  std::uint64_t samples = judged.report.reachable_samples;
  for (const LeakPlace& place : judged.report.places) samples += place.samples;
  std::string text = "no definite leaks";
  if (lost.blocks != 0) {
    text = fmt::format("about {}, {} definitely leaked at {}", count_text(lost.blocks, "block"),
                       size_text(lost.bytes), count_text(lost.places, "place"));
  }
  text += fmt::format(", by {}, one in {} of allocations", count_text(samples, "live sample"),
                      size_text(judged.report.sampled_every));
  if (judged.suppressed.blocks != 0) {
    text += fmt::format("; about {} suppressed", size_text(judged.suppressed.bytes));
  }
  return text;
}

std::string summary(const JudgedReport& judged) {
  if (judged.report.sampled_every != 0) return sampled_summary(judged);
  const LeakTotals& definite = judged.totals[0];
  std::string text = "no definite leaks";
  if (definite.blocks != 0) {
    text = fmt::format("{}, {} definitely leaked at {}", count_text(definite.blocks, "block"),
                       size_text(definite.bytes), count_text(definite.places, "place"));
  }
  for (const LeakKind kind : {LeakKind::kPossible, LeakKind::kReachable}) {
    const LeakTotals& total = judged.totals[std::size_t(kind)];
    if (total.blocks == 0) continue;
    text += fmt::format("; {}, {} {}", count_text(total.blocks, "block"), size_text(total.bytes),
                        phrase_of(kind));
  }
  if (judged.suppressed.blocks != 0) {
    text += fmt::format("; {}, {} suppressed", count_text(judged.suppressed.blocks, "block"),
                        size_text(judged.suppressed.bytes));
  }
  return text;
}

nlohmann::ordered_json totals_as_json(const LeakTotals& totals) {
  return {{"places", totals.places}, {"blocks", totals.blocks}, {"bytes", totals.bytes}};
}

nlohmann::ordered_json place_as_json(const LeakPlace& place) {
  nlohmann::ordered_json stack = nlohmann::ordered_json::array();
  for (const LeakFrame& frame : place.stack) {
    nlohmann::ordered_json each{{"function", frame.function}, {"module", frame.module}};
    if (!frame.file.empty()) {
      each["file"] = frame.file;
      each["line"] = frame.line;
    }
    stack.push_back(std::move(each));
  }
  nlohmann::ordered_json json{{"kind", name_of(place.kind)},
                              {"blocks", place.blocks},
                              {"bytes", place.bytes},
                              {"indirect_blocks", place.indirect_blocks},
                              {"indirect_bytes", place.indirect_bytes}};
  if (place.samples != 0) json["samples"] = place.samples;
  json["stack"] = std::move(stack);
  return json;
}

}  // namespace

void print_leaks(const JudgedReport& judged, const LeaksOptions& options) {
  const LeakReport& report = judged.report;
  const std::string program = file_name(report.command.substr(0, report.command.find(' ')));
  const std::string process = fmt::format("{} ({})", printable(program), report.process);
  if (!report.failure.empty()) {
    complain(fmt::format("{}: no leak report: {}", process, printable(report.failure)));
    return;
  }
  int listed = 0;
  std::uint64_t left_out = 0;
  for (const LeakPlace& place : report.places) {
    if (place.kind == LeakKind::kPossible && !options.possible) continue;
    if (place.kind == LeakKind::kReachable && !options.reachable) continue;
    if (listed++ < options.count) {
      print_place(place);
    } else {
      ++left_out;
    }
  }
  if (left_out != 0) {
    complain(fmt::format("{}: {} more (-n {} lists them)", process, count_text(left_out, "place"),
                         listed));
  }
  complain(fmt::format("{}: {}", process, summary(judged)));
  if (!report.advice.empty() && listed != 0) complain(printable(report.advice));
}

std::string leaks_as_json(const std::vector<JudgedReport>& reports) {
  nlohmann::ordered_json processes = nlohmann::ordered_json::array();
  for (const JudgedReport& judged : reports) {
    const LeakReport& report = judged.report;
    nlohmann::ordered_json process{{"pid", report.process}, {"command", report.command}};
    if (!report.failure.empty()) {
      process["failure"] = report.failure;
      processes.push_back(std::move(process));
      continue;
    }
    if (report.sampled_every != 0) {
      process["sampled_every"] = report.sampled_every;
      process["reachable_samples"] = report.reachable_samples;
    }
    for (const LeakKind kind : kAllKinds) {
      process[name_of(kind)] = totals_as_json(judged.totals[std::size_t(kind)]);
    }
    process["suppressed"] = totals_as_json(judged.suppressed);
    process["leaks"] = nlohmann::ordered_json::array();
    for (const LeakPlace& place : report.places) process["leaks"].push_back(place_as_json(place));
    processes.push_back(std::move(process));
  }
  const nlohmann::ordered_json all{{"version", CORBEL_VERSION}, {"processes", processes}};
  // A path or a command may have any bytes.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace corbel::cli
