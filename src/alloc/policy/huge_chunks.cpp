// SPDX-License-Identifier: Apache-2.0
// Whether a chunk may get huge pages when CORBEL_HUGE_PAGES leaves that to Corbel
// (docs/decisions/0010-huge-pages.md).
#include "alloc/heap/thread.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/huge_pages.hpp"
#include "alloc/policy/heap_limit.hpp"

namespace corbel::alloc {

namespace {

// A block of at least this size gets a chunk of its own, and the program has asked for all of it.
constexpr std::size_t kLarge = 2 * kHugePage;

// With huge pages, one touched page makes a whole slab resident. Then the slabs that one thread has
// begun to use, one per size class, may take this much memory. A heap that is kMinHeapPerSlabs
// times larger than that, for all its threads, can afford it.
constexpr std::size_t kStartedSlabs = std::size_t(2) << 20;
constexpr std::size_t kMinHeapPerSlabs = 32;
constexpr std::size_t kSmallHeap = std::size_t(256) << 20;

bool is_limited() { return heap_limit.soft() != 0 || heap_limit.hard() != 0; }

}  // namespace

bool chunk_may_be_huge(std::size_t bytes, std::size_t wanted, std::size_t mapped) {
  if (is_limited()) return false;
  if (wanted >= kLarge && wanted > bytes / 2) return true;
  return mapped >= kSmallHeap && mapped / kMinHeapPerSlabs >= live_heaps() * kStartedSlabs;
}

}  // namespace corbel::alloc
