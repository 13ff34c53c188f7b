// SPDX-License-Identifier: Apache-2.0
// Names of code that a program compiled while it ran.
#include "perf_map.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

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
    entries_.push_back({start, size, rest + 1});
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.start < b.start; });
}

std::string PerfMap::name_at(std::uint64_t address) const {
  const auto next =
      std::upper_bound(entries_.begin(), entries_.end(), address,
                       [](std::uint64_t at, const Entry& entry) { return at < entry.start; });
  if (next == entries_.begin()) return {};
  const Entry& entry = *(next - 1);
  return address - entry.start < entry.size ? entry.name : std::string();
}

}  // namespace corbel::cli
