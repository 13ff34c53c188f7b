// SPDX-License-Identifier: Apache-2.0
#include "alloc/huge_pages.hpp"

#include "alloc/heap_limit.hpp"
#include "alloc/options.hpp"
#include "alloc/page_map.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

// A block of this size lies in a chunk of its own, all of which the program has asked for.
constexpr std::size_t kLarge = 2 * kHugePage;

// What the started slabs of one thread may take in all size classes, when a touched page takes its
// whole slab along; and how often that must fit into the heap to be negligible.
constexpr std::size_t kStartedSlabs = std::size_t(2) << 20;
constexpr std::size_t kNegligible = 32;
constexpr std::size_t kSmallHeap = std::size_t(256) << 20;

// Whether any chunk was left to the system. relaxed: it changes once, before that chunk is used
constinit std::atomic<bool> some_may_be_huge{false};

bool is_limited() { return heap_limit.soft() != 0 || heap_limit.hard() != 0; }

bool may_be_huge(std::size_t bytes, std::size_t wanted, std::size_t mapped) {
  if (is_limited()) return false;
  if (wanted >= kLarge && wanted > bytes / 2) return true;
  return mapped >= kSmallHeap && mapped / kNegligible >= live_heaps() * kStartedSlabs;
}

bool is_ours(std::uintptr_t address) {
  return find_span(pointer_to(address))->tag() != span_tag::kForeign;
}

}  // namespace

void advise_chunk(void* chunk, std::size_t bytes, std::size_t wanted, std::size_t mapped) {
  // relaxed: see options.hpp
  const HugePages policy = options.huge_pages.load(std::memory_order_relaxed);
  if (policy == HugePages::kAlways) {
    os::advise(chunk, bytes, os::HugePages::kDense);
  } else if (policy == HugePages::kAuto && may_be_huge(bytes, wanted, mapped)) {
    some_may_be_huge.store(true, std::memory_order_relaxed);  // relaxed: see above
  } else {
    os::advise(chunk, bytes, os::HugePages::kSparse);
  }
}

// relaxed: see above
bool may_have_huge_pages() { return some_may_be_huge.load(std::memory_order_relaxed); }

void keep_purged(void* start, std::size_t bytes) {
  if (!may_have_huge_pages()) return;
  // The whole huge page, as a mapping would be split for each part; as far as it is ours.
  std::uintptr_t low = align_down(address_of(start), kUnit);
  std::uintptr_t high = align_up(address_of(start) + bytes, kUnit);
  while (low % kHugePage != 0 && is_ours(low - kUnit)) low -= kUnit;
  while (high % kHugePage != 0 && is_ours(high)) high += kUnit;
  os::advise(pointer_to(low), high - low, os::HugePages::kSparse);
}

}  // namespace corbel::alloc
