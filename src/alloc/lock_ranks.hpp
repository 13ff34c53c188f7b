// SPDX-License-Identifier: Apache-2.0
// The order in which the allocator's locks may be taken. A thread that holds one may take those
// of higher rank only.
#pragma once

namespace corbel::alloc::lock_rank {

inline constexpr int kSleepers = 1;  // which thread has which heap
inline constexpr int kRegistry = 2;  // the list of heaps
inline constexpr int kOrphans = 3;   // slabs whose thread has ended
inline constexpr int kSpans = 4;     // the span heap
inline constexpr int kMetadata = 5;
inline constexpr int kContainer = 6;  // reading the container's limits
inline constexpr int kLimit = 7;      // what they are

}  // namespace corbel::alloc::lock_rank
