// SPDX-License-Identifier: Apache-2.0
// The settings of the allocator in a process, each with its source: limits, container, huge pages,
// helper thread. They are read from outside the process with the library's own parsers; a setting
// that the program makes by a call is not visible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "os/os.hpp"

namespace corbel::cli {

inline constexpr char kHeapLimitVariable[] = "CORBEL_HEAP_LIMIT";
inline constexpr char kHardLimitVariable[] = "CORBEL_HEAP_HARD_LIMIT";
inline constexpr char kHugePagesVariable[] = "CORBEL_HUGE_PAGES";
inline constexpr char kLeaksVariable[] = "CORBEL_LEAKS";
inline constexpr char kProfileVariable[] = "CORBEL_PROFILE";
inline constexpr char kHelperThreadVariable[] = "CORBEL_HELPER_THREAD";

struct Setting {
  std::string id;                      // one word for scripts
  std::string name;                    // for the user
  std::string value;                   // "350.0 MiB", "none", "auto", ...
  std::optional<std::uint64_t> bytes;  // when it is an amount
  std::string source;                  // a variable, a file, or "default"
};

// Returns the value of an environment variable of the process, or nullopt.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// What the system grants a process, each with where that is from.
struct ProcessLimits {
  os::MemoryGrant grant;
  std::string limit_source, physical_source;
  std::string pressure, pressure_source;
  bool has_huge_pages = false;  // the system has what CORBEL_HUGE_PAGES chooses
};

// Those of process `pid`; of this one, whose children have the same, if that is 0.
ProcessLimits read_limits(int pid);

// `notes` gets a line for each value that the allocator will ignore.
std::vector<Setting> read_settings(const ProcessLimits& limits, const Variables& variables,
                                   std::vector<std::string>& notes);

// Why `text` is not an amount of memory; empty when it is one.
std::string memory_amount_problem(const std::string& text);

}  // namespace corbel::cli
