// SPDX-License-Identifier: Apache-2.0
// `corbel check`: the report, for people and as JSON.
#include "check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "terminal.hpp"

namespace corbel::cli {
namespace {

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
  for (const SymbolReport& symbol : report.symbols) width = std::max(width, symbol.name.size());
  fmt::print("\n  {}\n",
             paint(fmt::format("{:<{}}  {:>7}  {}", "symbol", width, "callers", "comes from"),
                   Colour::kBold));
  for (const SymbolReport& symbol : report.symbols) {
    if (symbol.provider.empty() && !verbose) continue;
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

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
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
  } else {
    fmt::print("{} {} does not take its memory from Corbel\n", paint("not active:", Colour::kBad),
               report.target);
  }
  fmt::print("  {}\n", paint(report.how, Colour::kDim));
  for (const Obstacle& reason : report.reasons) {
    fmt::print("  why:  {}\n", reason.text);
    if (!reason.help.empty()) fmt::print("  help: {}\n", reason.help);
  }
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", note);
  if (!report.objects.empty()) print_symbols(report, verbose);
  if (!report.settings.empty()) print_settings(report);
  if (verbose) {
    for (const std::string& object : report.objects) fmt::print("  loaded: {}\n", object);
  }
}

}  // namespace

int check(const CheckOptions& options) {
  CheckReport report =
      options.pid != 0 ? check_process(options.pid) : check_command(options.command, options.as_is);
  if (report.error_code != 0) {
    complain(report.error);
    return report.error_code;
  }
  if (report.active && options.pid != 0) {
    const std::string folder = fmt::format("/proc/{}", options.pid);
    report.settings = read_settings(
        folder, folder + "/root",
        [&](const std::string& name) { return process_variable(options.pid, name); }, report.notes);
  } else if (report.active) {
    report.settings = read_settings("/proc/self", "", own_variable, report.notes);
  }
  if (options.json) {
    fmt::print("{}\n", to_json(report).dump(2));
  } else {
    print(report, options.verbose);
  }
  return report.active ? kExitOk : kExitNo;
}

}  // namespace corbel::cli
