// SPDX-License-Identifier: Apache-2.0
// `corbel check`: whether the replacement is active in a program, symbol by symbol, and why not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf_image.hpp"
#include "program.hpp"
#include "settings.hpp"

namespace corbel::cli {

// One object in the order in which the loader searches for symbols.
struct LoadedObject {
  std::string path;                 // as the loader names it; the program itself has its own path
  std::string real_path;            // where this process can open it
  std::uint64_t low = 0, high = 0;  // addresses it occupies; running processes only
  bool corbel = false;
  DynamicImage image;
};

// References to one symbol from the objects of a program, by where they lead.
struct Binding {
  std::string from;
  std::string to;
};

struct SymbolReport {
  std::string symbol;    // as linked
  std::string name;      // for people
  std::string provider;  // object that defines it first; empty when nobody does
  bool essential = false;
  bool corbel = false;  // the provider is Corbel
  std::vector<Binding> bindings;
};

struct CheckReport {
  std::string target;  // what was examined
  std::string how;     // how it starts, or which process
  std::string mode;    // "run", "as-is" or "pid"
  bool active = false;
  std::vector<Obstacle> reasons;  // why it is not active
  std::vector<std::string> notes;
  std::vector<std::string> objects;
  std::vector<SymbolReport> symbols;
  std::vector<Setting> settings;  // what the allocator goes by, where it is active
  std::string error;              // the question itself failed
  int error_code = 0;
};

struct CheckOptions {
  std::vector<std::string> command;
  int pid = 0;
  bool as_is = false;
  bool json = false;
  bool verbose = false;
};

// Fills `symbols`, `active` and `reasons` of `report` from the objects, in search order.
// Bindings already in `report.symbols` are kept and judged too.
void judge(const std::vector<LoadedObject>& objects, CheckReport& report);

// An empty report with every replaceable symbol in it.
CheckReport new_report();

// Whether an object that provides malloc is Corbel: its name says so, or its content does.
bool object_is_corbel(const LoadedObject& object);

CheckReport check_command(const std::vector<std::string>& command, bool as_is);
CheckReport check_process(int pid);

// A variable that a running process was started with.
std::optional<std::string> process_variable(int pid, std::string_view name);

// The command itself; returns the exit code.
int check(const CheckOptions& options);

}  // namespace corbel::cli
