// SPDX-License-Identifier: Apache-2.0
// The threads that have to do with sampled blocks.
#pragma once

#include <cstdint>

namespace corbel::alloc {

// This many threads have entries of their own. Further ones share an entry: a program may start
// millions.
inline constexpr unsigned kMaxSampledThreads = 4096;

// Entries stay when threads end.
struct SampledThread {
  SampledThread* next;
  std::uint32_t id;  // 0: stands for all further threads
  char name[16];
  std::uint64_t label;  // for a writer of profiles, while it holds samples_lock
};

// These functions require samples_lock.

// The entry of the calling thread, with the name that prepare_to_record() (observer.hpp) has read.
// nullptr if there is no memory.
SampledThread* own_sampled_thread();

// The number of the calling thread, which no other thread of the process has or had, and which it
// keeps in the child of a fork. 0: own_sampled_thread() has never given it an entry.
std::uint64_t own_thread_number();

SampledThread* first_sampled_thread();

}  // namespace corbel::alloc
