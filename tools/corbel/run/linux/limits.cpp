// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "os/linux/container.hpp"
#include "run/settings.hpp"

namespace corbel::cli {

ProcessLimits read_limits(int pid) {
  const std::string process = pid != 0 ? fmt::format("/proc/{}", pid) : "/proc/self";
  const std::string root = pid != 0 ? process + "/root" : "";
  const auto reader = std::make_unique<os::ContainerReader>(process.c_str(), root.c_str());
  ProcessLimits limits;
  limits.grant = reader->read();
  // The paths in the view of the process.
  const auto seen = [&](const char* file) {
    const std::string path = file;
    return path.rfind(root, 0) == 0 ? path.substr(root.size()) : path;
  };
  const std::string stall_file = seen(reader->stall_file());
  limits.limit_source = limits.grant.limit != SIZE_MAX ? seen(reader->limit_file())
                                                       : "no memory cgroup of the process has one";
  limits.physical_source = "sysinfo";
  limits.pressure = limits.grant.knows_stalls ? "watched, by stalls"
                    : !stall_file.empty()     ? "watched, by collisions with the limit"
                                              : "not known";
  limits.pressure_source = stall_file.empty() ? "no file tells" : stall_file;
  limits.has_huge_pages = true;
  return limits;
}

}  // namespace corbel::cli
