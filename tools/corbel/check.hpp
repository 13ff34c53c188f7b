// SPDX-License-Identifier: Apache-2.0
// `corbel check`: reports, symbol by symbol, whether Corbel is active in a program, and if not,
// why.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf_image.hpp"
#include "loader.hpp"
#include "program.hpp"
#include "settings.hpp"
#include "tbb.hpp"

namespace corbel::cli {

// One object in the order in which the loader searches for symbols.
struct LoadedObject {
  std::string path;                 // the name that the loader uses; for the program, its path
  std::string real_path;            // a path that this process can open
  std::uint64_t low = 0, high = 0;  // its address range; running processes only
  bool corbel = false;              // a malloc replacement
  bool preloaded = false;           // LD_PRELOAD names it
  DynamicImage image;
};

struct SymbolReport {
  std::string symbol;    // as linked
  std::string name;      // readable
  std::string provider;  // first object that defines it; empty when none does
  bool essential = false;
  bool corbel = false;  // the provider is Corbel
  std::vector<Binding> bindings;
};

struct CheckReport {
  std::string target;   // what was examined
  std::string how;      // how the command starts, or the process
  std::string mode;     // "run", "as-is" or "pid"
  bool script = false;  // it is the interpreter of a script
  bool active = false;
  bool malloc_active = false;     // apart from libtbb.so.12
  std::vector<Obstacle> reasons;  // why it is not active
  std::vector<std::string> notes;
  std::vector<std::string> objects;
  std::vector<SymbolReport> symbols;
  std::optional<TbbReport> tbb;   // when the program needs something of it
  std::string tbb_problem;        // why --tbb could not start it on Corbel's library
  std::vector<Setting> settings;  // settings of the allocator, when it is active
  std::string error;              // why the check itself failed
  int error_code = 0;
};

struct CheckOptions {
  std::vector<std::string> command;
  int pid = 0;
  TbbMode tbb = TbbMode::kOff;
  bool as_is = false;
  bool json = false;
  bool verbose = false;
};

// Fills `symbols`, `active` and `reasons` of `report` from the objects, in search order.
// Keeps the bindings already in `report.symbols` and judges them too.
void judge(const std::vector<LoadedObject>& objects, CheckReport& report);

// A report that lists every replaceable symbol and nothing else.
CheckReport new_report();

// Whether an object that provides malloc is Corbel, by its name or its content.
bool object_is_corbel(const LoadedObject& object);

CheckReport check_command(const std::vector<std::string>& command, bool as_is, TbbMode tbb);
CheckReport check_process(int pid);

// An environment variable that a running process was started with.
std::optional<std::string> process_variable(int pid, std::string_view name);

// Runs the sub-command; returns the exit code.
int check(const CheckOptions& options);

}  // namespace corbel::cli
