// SPDX-License-Identifier: Apache-2.0
// A job is what limits the memory of processes. The system tells of the innermost one; those around
// it may be tighter.
#include "os/windows/container.hpp"

#include <algorithm>

#include "os/windows/api.hpp"

namespace corbel::os {

MemoryGrant grant_of(const JobLimits& limits, std::uint64_t physical) {
  MemoryGrant grant;
  grant.physical = std::size_t(physical);
  const std::uint64_t lowest = std::min(limits.process, limits.job);
  if (physical == 0 || lowest < physical) grant.limit = std::size_t(lowest);
  return grant;
}

MemoryGrant read_memory_grant() {
  LastErrorGuard guard;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  const std::uint64_t physical = GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
  JobLimits limits;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof job,
                                nullptr)) {
    const DWORD flags = job.BasicLimitInformation.LimitFlags;
    if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) limits.process = job.ProcessMemoryLimit;
    if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) limits.job = job.JobMemoryLimit;
  }
  return grant_of(limits, physical);
}

}  // namespace corbel::os
