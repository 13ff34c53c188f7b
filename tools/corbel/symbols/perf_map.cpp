// SPDX-License-Identifier: Apache-2.0
// Names of code that a program compiled while it ran.
#include "symbols/perf_map.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace corbel::cli {

PerfMap::PerfMap(const std::string& pid) {
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return;
  const std::string path = "/tmp/perf-" + pid + ".map";
  struct stat info{};
  // Anyone may write to /tmp.
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    char* rest = nullptr;
    const std::uint64_t start = std::strtoull(line.c_str(), &rest, 16);
    const std::uint64_t size = std::strtoull(rest, &rest, 16);
    if (size == 0 || *rest != ' ') continue;
    // Code may take the place of other code: the later entry is valid.
    entries_.insert_or_assign(start, Entry{size, rest + 1});
  }
}

std::string PerfMap::name_at(std::uint64_t address) const {
  const auto next = entries_.upper_bound(address);
  if (next == entries_.begin()) return {};
  const auto& [start, entry] = *std::prev(next);
  return address - start < entry.size ? entry.name : std::string();
}

}  // namespace corbel::cli
