// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>

#include "run/settings.hpp"

namespace corbel::cli {

// A process in a job has the same limits as its children. The job of another process cannot be
// asked for without its handle, so `pid` has the machine's alone.
ProcessLimits read_limits(int pid) {
  ProcessLimits limits;
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  if (GlobalMemoryStatusEx(&memory)) limits.grant.physical = memory.ullTotalPhys;
  limits.physical_source = "GlobalMemoryStatusEx";
  limits.limit_source =
      pid != 0 ? "the job of another process is not known" : "no job of the process has one";
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (pid == 0 && QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job,
                                            sizeof job, nullptr)) {
    const DWORD flags = job.BasicLimitInformation.LimitFlags;
    std::size_t& limit = limits.grant.limit;
    if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
      limit = std::min(limit, std::size_t(job.ProcessMemoryLimit));
    }
    if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
      limit = std::min(limit, std::size_t(job.JobMemoryLimit));
    }
    if (limit != SIZE_MAX) limits.limit_source = "job object";
  }
  limits.pressure = "not known";
  limits.pressure_source = "Windows does not tell";
  return limits;
}

}  // namespace corbel::cli
