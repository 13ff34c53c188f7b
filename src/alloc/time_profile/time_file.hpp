// SPDX-License-Identifier: Apache-2.0
// The file of the time profile.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::alloc {

struct TimeProfileFacts {
  std::uint64_t every;       // nanoseconds
  std::uint64_t started_at;  // os::wall_ns()
};

// Writes the profile to a new file and finishes it. Returns 0 or an error number (errno.h): that of
// the file, or ENOMEM when there is no memory to prepare the output. Requires: the profiler has
// stopped.
int write_time_profile_to(const char* path, const TimeProfileFacts& facts);

}  // namespace corbel::alloc
