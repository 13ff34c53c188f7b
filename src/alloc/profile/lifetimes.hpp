// SPDX-License-Identifier: Apache-2.0
// What becomes of blocks: which of them are freed at once or by another thread, and which are made
// larger. Estimated from sampled blocks, by call stack and thread, for the time profile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/sampled_threads.hpp"
#include "alloc/sample/sampler.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

// Sums over blocks. The stack is that of the allocation, unless the comment says otherwise. A
// realloc that changes the size of a block, even in place, counts as an allocation.
enum class LifetimeSum : unsigned {
  kAllocations,  // all blocks
  kAllocated,    // their bytes
  kBrief,        // those that were freed within kBriefLife of being handed out
  kHandedOver,   // those that another thread has freed
  kReceived,     // the same blocks, by the stack and the thread of the free
  kGrowths,      // those that a realloc has made larger, by the stack of the realloc
  kCopied,       // the bytes that these have copied; pages that were moved instead do not count
};
inline constexpr unsigned kLifetimeSums = 7;

inline constexpr std::uint64_t kBriefLife = 1000;  // nanoseconds

struct LifetimeRow {
  LifetimeRow* next;
  SampledThread* thread;
  StackId stack;
  double sums[kLifetimeSums];

  std::uint64_t value(LifetimeSum sum) const { return std::uint64_t(sums[unsigned(sum)] + 0.5); }
};

// A sample in this many bytes shows what a program does thousands of times, and takes at most a few
// per cent of a thread's time (SamplePace).
inline constexpr std::uint64_t kLifetimeDistance = 16 * 1024;

// Begins to sample blocks, on average once in `every` bytes (sampler.hpp), and adds what they show
// to the time profile when that is written. The figures are unbiased; what the sampler does itself
// lengthens a few lives. The caller holds no lock.
void start_lifetimes(std::uint64_t every, SampleRate rate = SampleRate::kBounded);

// Takes no more samples. Those that were taken are still followed.
void stop_lifetimes();

// Visits all rows. Requires: the caller holds samples_lock.
void for_each_lifetime_row(void (*visit)(void* context, const LifetimeRow& row), void* context);

// For tests: the clock that lives are measured by. os::now_ns() unless it is set.
void set_lifetime_clock(std::uint64_t (*clock)());

}  // namespace corbel::alloc
