// SPDX-License-Identifier: Apache-2.0
// The heap profile: what the sampled blocks say about the process's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::alloc {

inline constexpr std::uint64_t kDefaultProfileDistance = 512 * 1024;

// Starts the profile, or continues it. Samples once in `every` bytes on average, from 1 (every
// block) to kMaxSamplingDistance. 0: once in kDefaultProfileDistance, and less often in threads
// that allocate very fast (SampleRate::kBounded).
void start_heap_profile(std::uint64_t every);

// Whether it has ever been started, and whether it is on.
bool heap_profile_has_begun();
bool heap_profile_is_on();

// The distance that start_heap_profile() got last.
std::uint64_t heap_profile_distance();

// Samples no more. Blocks that are sampled are still recorded when they are freed.
void stop_heap_profile();

// Writes the profile to the file. Returns 0 or an error number (errno.h): that of the file; ENOMEM
// when there is no memory to prepare the output; EBUSY when `wait` is false and another thread is
// in the profile for the moment, or this one if a signal handler interrupted it: try again.
// Async-signal-safe if `wait` is false.
//
// A write takes time and memory in proportion to the number of call stacks: some 100 bytes for each
// stack and 20 for each function in them. Threads that sample a block meanwhile wait until the
// output is prepared, but not until it is written.
int write_heap_profile(os::OutputFile& file, bool wait);

// The same without waiting, to another place than a file, whose write() returns false when it takes
// no more. Returns 0, ENOMEM, EBUSY, or EPIPE after a write() that has failed.
struct ProfileSink {
  void* place;
  bool (*put)(void* place, const void* data, std::size_t size);

  bool write(const void* data, std::size_t size) { return put(place, data, size); }
};
int write_heap_profile(ProfileSink& sink);

// Writes the profile to a new file and finishes it. Returns like write_heap_profile() with `wait`.
int write_heap_profile_to(const char* path);

}  // namespace corbel::alloc
