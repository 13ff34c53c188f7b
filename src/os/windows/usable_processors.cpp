// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use: those of its affinity mask, or what a job that limits
// its rate of time leaves it.
#include <algorithm>

#include "os/os.hpp"
#include "os/windows/api.hpp"
#include "os/windows/topology.hpp"

namespace corbel::os {
namespace {

// A process whose threads are in several groups has no mask: it may use all that there are.
unsigned processors_of_mask() {
  DWORD_PTR process = 0, system = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) return 1;
  return process != 0 ? unsigned(std::popcount(std::uint64_t(process)))
                      : std::max(unsigned(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)), 1U);
}

// The most that the job may get, in 10,000 parts; 0: there is no limit.
std::uint32_t rate_of(const JOBOBJECT_CPU_RATE_CONTROL_INFORMATION& job) {
  constexpr DWORD kMinMax = 0x10;  // since Windows 10; the upper half of the rate is the maximum
  if ((job.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_ENABLE) == 0) return 0;
  if ((job.ControlFlags & kMinMax) != 0) return job.CpuRate >> 16;
  return (job.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP) != 0 ? job.CpuRate : 0;
}

}  // namespace

unsigned usable_processors() {
  LastErrorGuard guard;
  const unsigned mask = processors_of_mask();
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION job{};
  if (!QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &job, sizeof job,
                                 nullptr)) {
    return mask;  // in no job
  }
  const std::uint32_t rate = rate_of(job);
  if (rate == 0) return mask;
  // The rate is that of all the machine's processors.
  const unsigned all = unsigned(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
  return std::min(mask, processors_of_rate(rate, std::max(all, 1U)));
}

}  // namespace corbel::os
