// SPDX-License-Identifier: Apache-2.0
// Names of code that a program compiled while it ran: the file /tmp/perf-PID.map that runtimes
// write for the perf tool (node --perf-basic-prof, PYTHONPERFSUPPORT=1, a Java agent).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace corbel::cli {

class PerfMap {
 public:
  // Reads the file of the process `pid`, if it is this user's; an empty `pid` has none.
  explicit PerfMap(const std::string& pid);

  // Empty when there is no name for the address.
  std::string name_at(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t size;
    std::string name;
  };
  std::map<std::uint64_t, Entry> entries_;  // by address
};

}  // namespace corbel::cli
