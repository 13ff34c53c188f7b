// SPDX-License-Identifier: Apache-2.0
// The threads that have to do with sampled blocks.
#pragma once

#include <cstdint>

namespace corbel::alloc {

// Entries stay when threads end.
struct SampledThread {
  SampledThread* next;
  std::uint32_t id;  // 0: stands for all further threads
  char name[16];
  std::uint64_t label;  // for a writer of profiles, while it holds samples_lock
};

// Both functions require samples_lock.

// The entry of the calling thread, with the name that prepare_to_record() (observer.hpp) has read.
// nullptr if there is no memory.
SampledThread* own_sampled_thread();

SampledThread* first_sampled_thread();

}  // namespace corbel::alloc
