// SPDX-License-Identifier: Apache-2.0
// The facts about the machine that every measurement must state.
#include "compare/machine.hpp"

#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace corbel::cli {
namespace {

// The value of `key` in a file of "key : value" lines.
std::string value_in(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t\"", at + 1);
    if (start == std::string::npos) continue;
    return line.substr(start, line.find_last_not_of(" \t\"") - start + 1);
  }
  return {};
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

nlohmann::json machine_facts() {
  utsname system{};
  uname(&system);
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  double load[3] = {};
  if (getloadavg(load, 3) < 0) load[0] = load[1] = load[2] = 0;
  std::string processor = value_in("/proc/cpuinfo", "model name", ':');
  if (processor.empty()) processor = system.machine;
  return {{"processor", processor},
          {"architecture", system.machine},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"usable_cores", usable_cores()},
          {"memory_bytes", memory},
          {"page_bytes", sysconf(_SC_PAGESIZE)},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
          {"distribution", value_in("/etc/os-release", "PRETTY_NAME", '=')},
          {"transparent_huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"load_average", {load[0], load[1], load[2]}}};
}

std::string machine_line() {
  const nlohmann::json facts = machine_facts();
  return fmt::format("{}, {} of {} cores, {:.1f} GiB, {}, {}",
                     facts["processor"].get<std::string>(), facts["usable_cores"].get<int>(),
                     facts["cores"].get<long>(), facts["memory_bytes"].get<double>() / (1u << 30),
                     facts["kernel"].get<std::string>(), facts["c_library"].get<std::string>());
}

}  // namespace corbel::cli
