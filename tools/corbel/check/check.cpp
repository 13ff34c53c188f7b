// SPDX-License-Identifier: Apache-2.0
// `corbel check`: the report, for people and as JSON.
#include "check/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "terminal.hpp"

namespace corbel::cli {
namespace {

nlohmann::json to_json(const TbbReport& report) {
  const auto text = [](const std::string& value) {
    return value.empty() ? nlohmann::json() : nlohmann::json(value);
  };
  const TbbLibrary first = report.libraries.empty() ? TbbLibrary() : report.libraries.front();
  nlohmann::json json{{"library", text(first.path)},
                      {"corbel", first.corbel},
                      {"version", text(first.version)},
                      {"inside", text(report.inside)},
                      {"libtbb2", text(report.classic)}};
  json["others"] = nlohmann::json::array();
  for (std::size_t i = 1; i < report.libraries.size(); ++i) {
    const TbbLibrary& other = report.libraries[i];
    json["others"].push_back(
        {{"library", other.path}, {"corbel", other.corbel}, {"version", text(other.version)}});
  }
  json["missing"] = nlohmann::json::array();
  for (const MissingName& each : report.missing) {
    json["missing"].push_back(
        {{"symbol", each.symbol}, {"name", each.name}, {"object", each.object}});
  }
  return json;
}

nlohmann::json to_json(const CheckReport& report) {
  nlohmann::json json;
  json["format"] = "corbel-check-1";
  json["active"] = report.active;
  json["target"] = report.target;
  json["mode"] = report.mode;
  json["how"] = report.how;
  json["reasons"] = nlohmann::json::array();
  for (const Obstacle& reason : report.reasons) {
    json["reasons"].push_back({{"id", reason.id}, {"text", reason.text}, {"help", reason.help}});
  }
  json["notes"] = report.notes;
  json["objects"] = report.objects;
  json["symbols"] = nlohmann::json::array();
  for (const SymbolReport& symbol : report.symbols) {
    nlohmann::json entry{{"symbol", symbol.symbol},
                         {"name", symbol.name},
                         {"corbel", symbol.corbel},
                         {"essential", symbol.essential}};
    entry["provider"] =
        symbol.provider.empty() ? nlohmann::json() : nlohmann::json(symbol.provider);
    entry["bindings"] = nlohmann::json::array();
    for (const Binding& binding : symbol.bindings) {
      entry["bindings"].push_back({{"from", binding.from}, {"to", binding.to}});
    }
    json["symbols"].push_back(std::move(entry));
  }
  json["tbb"] = report.tbb ? to_json(*report.tbb) : nlohmann::json();
  json["settings"] = nlohmann::json::array();
  for (const Setting& setting : report.settings) {
    nlohmann::json entry{{"id", setting.id},
                         {"name", setting.name},
                         {"value", setting.value},
                         {"source", setting.source}};
    if (setting.bytes) entry["bytes"] = *setting.bytes;
    json["settings"].push_back(std::move(entry));
  }
  return json;
}

void print_symbols(const CheckReport& report, bool verbose) {
  std::size_t width = 0;
  for (const SymbolReport& symbol : report.symbols) {
    if (verbose || !symbol.minor) width = std::max(width, symbol.name.size());
  }
  fmt::print("\n  {}\n",
             paint(fmt::format("{:<{}}  {:>7}  {}", "symbol", width, "callers", "comes from"),
                   Colour::kBold));
  for (const SymbolReport& symbol : report.symbols) {
    if ((symbol.provider.empty() || symbol.minor) && !verbose) continue;
    std::set<std::string> callers;
    for (const Binding& binding : symbol.bindings) callers.insert(binding.from);
    const std::string name = std::filesystem::path(symbol.provider).filename().string();
    fmt::print("  {:<{}}  {:>7}  {}\n", symbol.name, width,
               callers.empty() ? "-" : std::to_string(callers.size()),
               symbol.provider.empty() ? paint("not defined", Colour::kDim)
               : symbol.corbel         ? paint(name, Colour::kGood)
               : symbol.essential      ? paint(symbol.provider, Colour::kBad)
                                       : paint(name, Colour::kWarn));
    if (!verbose) continue;
    for (const Binding& binding : symbol.bindings) {
      fmt::print("{}\n",
                 paint(fmt::format("      {} → {}", binding.from, binding.to), Colour::kDim));
    }
  }
  fmt::print("\n  {}\n", paint("callers: objects of the program whose calls the loader has led "
                               "there",
                               Colour::kDim));
}

void print_settings(const CheckReport& report) {
  std::size_t names = 0, values = 0;
  for (const Setting& setting : report.settings) {
    names = std::max(names, setting.name.size());
    values = std::max(values, setting.value.size());
  }
  fmt::print("\n  {}\n",
             paint(fmt::format("{:<{}}  {:<{}}  {}", "setting", names, "value", values, "from"),
                   Colour::kBold));
  for (const Setting& setting : report.settings) {
    fmt::print("  {:<{}}  {:<{}}  {}\n", setting.name, names, setting.value, values,
               paint(setting.source, Colour::kDim));
  }
}

void print(const CheckReport& report, bool verbose) {
  if (report.active) {
    fmt::print("{} {} takes its memory from Corbel\n", paint("active:", Colour::kGood),
               report.target);
  } else if (report.malloc_active) {
    fmt::print("{} {} takes its memory from Corbel, but does not run on Corbel's {}\n",
               paint("not active:", Colour::kBad), report.target, kTbbName);
  } else {
    fmt::print("{} {} does not take its memory from Corbel\n", paint("not active:", Colour::kBad),
               report.target);
  }
  fmt::print("  {}\n", paint(report.how, Colour::kDim));
  for (const Obstacle& reason : report.reasons) {
    fmt::print("  why:  {}\n", reason.text);
    if (!reason.help.empty()) fmt::print("  help: {}\n", reason.help);
  }
  if (report.tbb) {
    for (const std::string& line : tbb_lines(*report.tbb, report.reasons)) {
      fmt::print("  tbb:  {}\n", line);
    }
  }
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", note);
  if (!report.objects.empty()) print_symbols(report, verbose);
  if (!report.settings.empty()) print_settings(report);
  if (verbose) {
    for (const std::string& object : report.objects) fmt::print("  loaded: {}\n", object);
  }
}

// With --tbb a program that uses TBB must do so on Corbel's library. `replaced`: it is checked as
// --tbb starts it.
void require_tbb(bool replaced, TbbMode mode, CheckReport& report) {
  if (!report.tbb_problem.empty()) {
    report.active = false;
    report.reasons.push_back({"tbb-library", report.tbb_problem, {}});
    return;
  }
  for (Obstacle& reason : explain_tbb(report.tbb)) {
    report.active = false;
    if (replaced && reason.id == "tbb-other") reason.help.clear();
    report.reasons.push_back(std::move(reason));
  }
  if (report.tbb || !report.malloc_active) return;
  if (report.mode == "pid") {
    report.notes.push_back(fmt::format("the process has not loaded {}", kTbbName));
    return;
  }
  const char* later = !replaced ? ""
                      : mode == TbbMode::kPreload
                          ? "; what it loads later gets Corbel's"
                          : "; what it loads later by that name gets Corbel's unless a DT_RPATH "
                            "leads elsewhere (--tbb=preload)";
  report.notes.push_back(fmt::format("{} does not load {} when it starts{}",
                                     report.script ? "the interpreter" : "the program", kTbbName,
                                     later));
}

}  // namespace

int check(const CheckOptions& options) {
  CheckReport report = options.pid != 0
                           ? check_process(options.pid)
                           : check_command(options.command, options.as_is, options.tbb);
  if (report.error_code != 0) {
    complain(report.error);
    return report.error_code;
  }
  report.malloc_active = report.active;
  if (options.tbb != TbbMode::kOff) {
    require_tbb(options.pid == 0 && !options.as_is, options.tbb, report);
  }
  if (report.malloc_active) report.settings = settings_of(options.pid, report.notes);
  if (options.json) {
    fmt::print("{}\n", to_json(report).dump(2));
  } else {
    print(report, options.verbose);
  }
  return report.active ? kExitOk : kExitNo;
}

}  // namespace corbel::cli
