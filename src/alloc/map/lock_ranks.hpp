// SPDX-License-Identifier: Apache-2.0
// The order in which the allocator's locks may be taken. A thread that holds a lock may take only
// locks of a higher rank. The scheduler's ranks (src/sched/core/lock_ranks.hpp) are lower: in a
// program that links both libraries statically, the ranks of both are checked together, and the
// scheduler may call the allocator while it holds a lock of its own.
#pragma once

namespace corbel::alloc::lock_rank {

inline constexpr int kQuarantine = 16;  // freed blocks that full checks keep
inline constexpr int kChecks = 17;      // the blocks that full checks record
inline constexpr int kSamples = 18;     // the sampled blocks
inline constexpr int kHeapOwners = 19;  // which thread has which heap
inline constexpr int kRegistry = 20;    // the list of heaps
inline constexpr int kOrphans = 21;     // slabs whose heap was taken apart
inline constexpr int kSpans = 22;       // the span heap
inline constexpr int kMetadata = 23;
inline constexpr int kContainer = 24;  // reading the container's limits
inline constexpr int kLimit = 25;      // the limits in force

}  // namespace corbel::alloc::lock_rank
