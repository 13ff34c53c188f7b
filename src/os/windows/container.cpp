// SPDX-License-Identifier: Apache-2.0
// A job is what limits the memory of processes.
#include <algorithm>

#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

MemoryGrant read_memory_grant() {
  LastErrorGuard guard;
  MemoryGrant grant;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (GlobalMemoryStatusEx(&status)) grant.physical = std::size_t(status.ullTotalPhys);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof job,
                                nullptr)) {
    const DWORD flags = job.BasicLimitInformation.LimitFlags;
    if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
      grant.limit = std::min(grant.limit, std::size_t(job.ProcessMemoryLimit));
    }
    if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
      grant.limit = std::min(grant.limit, std::size_t(job.JobMemoryLimit));
    }
  }
  if (grant.physical != 0 && grant.limit >= grant.physical) grant.limit = SIZE_MAX;
  return grant;
}

}  // namespace corbel::os
