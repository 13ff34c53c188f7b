// SPDX-License-Identifier: Apache-2.0
// The order in which the allocator's locks may be taken. A thread that holds one may take those
// of higher rank only. The scheduler's (src/sched/lock_ranks.hpp) come before: in a program that
// links both libraries statically all locks are one kind, and the scheduler's lists may be the
// allocator's blocks.
#pragma once

namespace corbel::alloc::lock_rank {

inline constexpr int kSleepers = 16;  // which thread has which heap
inline constexpr int kRegistry = 17;  // the list of heaps
inline constexpr int kOrphans = 18;   // slabs whose thread has ended
inline constexpr int kSpans = 19;     // the span heap
inline constexpr int kMetadata = 20;
inline constexpr int kContainer = 21;  // reading the container's limits
inline constexpr int kLimit = 22;      // what they are

}  // namespace corbel::alloc::lock_rank
