// SPDX-License-Identifier: Apache-2.0
// What the allocator goes by in a process: limits, container, huge pages, helper thread, each with
// where it comes from. Read with the library's own parsers, from outside of the process; what the
// program sets by a call cannot be seen.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace corbel::cli {

inline constexpr char kHeapLimitVariable[] = "CORBEL_HEAP_LIMIT";
inline constexpr char kHardLimitVariable[] = "CORBEL_HEAP_HARD_LIMIT";
inline constexpr char kHugePagesVariable[] = "CORBEL_HUGE_PAGES";
inline constexpr char kHelperThreadVariable[] = "CORBEL_HELPER_THREAD";

struct Setting {
  std::string id;                      // one word for programs
  std::string name;                    // for people
  std::string value;                   // "350.0 MiB", "none", "auto", ...
  std::optional<std::uint64_t> bytes;  // where it is an amount
  std::string source;                  // a variable, a file, or "default"
};

// Returns the value of a variable of the process, nothing if it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// `process` is its folder below /proc, `root` what stands before the paths that it sees. Values
// that the allocator will ignore are named in `notes`.
std::vector<Setting> read_settings(const std::string& process, const std::string& root,
                                   const Variables& variables, std::vector<std::string>& notes);

// Why `text` is no amount of memory; empty when it is one.
std::string memory_amount_problem(const std::string& text);

}  // namespace corbel::cli
