// SPDX-License-Identifier: Apache-2.0
// The order in which the allocator's locks may be taken. A thread that holds one may take those
// of higher rank only.
#pragma once

namespace corbel::alloc::lock_rank {

inline constexpr int kRegistry = 1;  // the list of heaps
inline constexpr int kOrphans = 2;   // slabs whose thread has ended
inline constexpr int kSpans = 3;     // the span heap
inline constexpr int kMetadata = 4;
inline constexpr int kContainer = 5;  // reading the container's limits
inline constexpr int kLimit = 6;      // what they are

}  // namespace corbel::alloc::lock_rank
