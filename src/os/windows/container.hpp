// SPDX-License-Identifier: Apache-2.0
// What a job grants its processes.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::os {

// In bytes; UINT64_MAX: none.
struct JobLimits {
  std::uint64_t process = UINT64_MAX;  // of what this process commits
  std::uint64_t job = UINT64_MAX;      // of what all processes of the job commit together
};

// `physical`: the machine's memory, in bytes; 0: not known.
MemoryGrant grant_of(const JobLimits& limits, std::uint64_t physical);

}  // namespace corbel::os
