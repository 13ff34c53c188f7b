// SPDX-License-Identifier: Apache-2.0
// Figures of the whole process, counted from the descriptors when somebody asks, so that nothing
// is counted on the paths of malloc and free.
//
// The descriptors are read while other threads change them. What makes the figures agree is that
// the walk deals with each unit of memory exactly once, files all of it under something, and adds
// up only then: a field read too early or too late puts memory into the wrong place, never into
// two. No length is believed unless the far end of the span agrees.
#include <algorithm>
#include <bit>

#include "alloc/allocator.hpp"
#include "alloc/container_limit.hpp"
#include "alloc/dirty_pages.hpp"
#include "alloc/footprint.hpp"
#include "alloc/heap_limit.hpp"
#include "alloc/helper.hpp"
#include "alloc/metadata.hpp"
#include "alloc/orphans.hpp"
#include "alloc/page_map.hpp"
#include "alloc/remote.hpp"
#include "alloc/sleepers.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/thread.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

static_assert(kClasses <= CORBEL_SIZE_CLASSES);

namespace {

// A descriptor's fields, each as it was at some moment.
struct Seen {
  std::uintptr_t tag;
  std::uint32_t units;
  std::uint32_t used;
  std::uint32_t carved;
  std::uint32_t purged;
  std::uint32_t entered;
  std::uint8_t size_class;
};

// The only places that read what another thread may be writing at that moment: aligned words, which
// come whole (sync/owner_counter.hpp). The thread sanitizer cannot know that nothing depends on
// them. relaxed: as the tag, see span.hpp
__attribute__((no_sanitize("thread"))) Seen look_at(const Span& span) {
  return {
      .tag = span.tag(),
      .units = __atomic_load_n(&span.units, __ATOMIC_RELAXED),
      .used = span.blocks.used.peek(),
      .carved = span.blocks.carved.peek(),
      .purged = __atomic_load_n(&span.purged.blocks, __ATOMIC_RELAXED),
      .entered = __atomic_load_n(&span.entered, __ATOMIC_RELAXED),
      .size_class = __atomic_load_n(&span.size_class, __ATOMIC_RELAXED),
  };
}

__attribute__((no_sanitize("thread"))) std::uint32_t distance_to_head(const Span& span) {
  return __atomic_load_n(&span.head_distance, __ATOMIC_RELAXED);
}

// Of the units of a slab that begins there, the pages that are purged.
__attribute__((no_sanitize("thread"))) std::size_t purged_bytes(const char* start,
                                                                std::size_t units) {
  std::size_t pages = 0;
  for (std::size_t i = 0; i < units; ++i) {
    const Span* unit = find_span(start + i * kUnit);
    pages += unsigned(std::popcount(__atomic_load_n(&unit->purged.pages, __ATOMIC_RELAXED)));
  }
  return pages * kDirtyPage;
}

__attribute__((no_sanitize("thread"))) std::uint32_t run_count(const Outbox& outbox) {
  return std::min(__atomic_load_n(&outbox.run_count, __ATOMIC_RELAXED), Outbox::kRuns);
}

__attribute__((no_sanitize("thread"))) Run look_at(const Run& run) {
  return {nullptr, __atomic_load_n(&run.first, __ATOMIC_RELAXED), nullptr,
          __atomic_load_n(&run.count, __ATOMIC_RELAXED)};
}

// The bytes of free memory that may be resident.
__attribute__((no_sanitize("thread"))) std::size_t dirty_bytes(const char* start,
                                                               std::size_t units) {
  std::size_t pages = 0;
  for (std::size_t i = 0; i < units; ++i) {
    const PageMask* mask = page_masks(address_of(start) / kUnit + i);
    pages += unsigned(std::popcount(__atomic_load_n(mask, __ATOMIC_RELAXED)));
  }
  return pages * kDirtyPage;
}

class Census {
 public:
  explicit Census(Stats* stats) : s_(*stats) {
    s_.class_count = kClasses;
    for (unsigned i = 0; i < kClasses; ++i) s_.classes[i].block_size = kSizeClasses[i].block_size;
  }

  void count_memory() {
    walk_spans(
        [](void* self, const Span& span, void* address) {
          return static_cast<Census*>(self)->count(look_at(span), static_cast<char*>(address));
        },
        this);
  }

  // Blocks in caches count as used in their slabs.
  void count_caches(const Heap* heaps) {
    for (const Heap* heap = heaps; heap != nullptr; heap = heap->next) {
      if (heap->inbox.state() != sync::Inbox::kLive) continue;
      const std::uint32_t count = run_count(heap->outbox);
      for (std::uint32_t i = 0; i < count; ++i) {
        const Run run = look_at(heap->outbox.runs[i]);
        cached(run.first, run.count);
      }
    }
    Heap* own = find_heap();
    if (own == nullptr) return;
    SlowPath slow_path(own);
    for (const Bin& bin : own->bins) {
      const unsigned size_class = own->class_of_bin(bin);
      // No list is longer than its slab, unless a block was freed twice.
      std::uint32_t left = kSizeClasses[size_class].capacity;
      for (const Block* b = bin.list; b != nullptr && left-- != 0; b = b->next) {
        cached(size_class, 1);
      }
    }
    // A sender that has found the heap idle, before this thread attached it, empties the inbox in
    // the owner's place, with this lock held.
    sync::LockGuard guard(orphans_lock);
    visit_inbox(
        *own,
        [](void* self, const void* block, std::uint32_t count) {
          static_cast<Census*>(self)->cached(block, count);
        },
        this);
  }

  void add_up() {
    s_.live = s_.large_live;
    for (unsigned i = 0; i < kClasses; ++i) {
      const corbel_size_class_stats& c = s_.classes[i];
      s_.live += c.used_blocks * c.block_size;
      s_.thread_cached += c.cached_blocks * c.block_size;
      s_.slab_free += c.free_blocks * c.block_size;
      s_.slab_purged += c.purged_blocks * c.block_size;
      s_.uncarved += c.uncarved;
    }
    s_.mapped = s_.live + s_.thread_cached + s_.slab_free + s_.slab_purged + s_.uncarved +
                s_.free_resident + s_.free_purged;
    s_.slab_free -= s_.orphan_free;
    s_.uncommitted += s_.free_purged;
  }

 private:
  // How many units the walk has dealt with.
  std::size_t count(const Seen& seen, const char* address) {
    if (seen.tag == span_tag::kForeign) return 1;
    if (seen.tag >= span_tag::kFirstHeap && seen.size_class < kClasses)
      return count_slab(seen, address);
    if (seen.tag == span_tag::kLarge && ends_as(seen, address, span_tag::kInterior)) {
      s_.large_live += seen.units * kUnit;
      ++s_.large_count;
      return seen.units;
    }
    if (seen.tag == span_tag::kFree && ends_as(seen, address, span_tag::kFree)) {
      const std::size_t dirty = dirty_bytes(address, seen.units);
      s_.free_resident += dirty;
      s_.free_purged += seen.units * kUnit - dirty;
      ++s_.free_count;
      s_.largest_free = std::max(s_.largest_free, seen.units * kUnit);
      return seen.units;
    }
    // Changing hands: taken and not yet in use, or on its way back.
    s_.free_resident += kUnit;
    return 1;
  }

  static bool ends_as(const Seen& seen, const char* address, std::uintptr_t tag) {
    if (seen.units <= 1) return seen.units == 1;
    const char* const end = address + (seen.units - 1) * kUnit;
    for (const char* a = address; a < end; a += kLeafEntries * kUnit) {
      if (!has_leaf(a)) return false;
    }
    const Span* last = find_span(end);
    if (last->tag() != tag) return false;
    return tag != span_tag::kFree || look_at(*last).units == seen.units;
  }

  std::size_t count_slab(const Seen& seen, const char* address) {
    const SizeClass& layout = kSizeClasses[seen.size_class];
    corbel_size_class_stats& c = s_.classes[seen.size_class];
    const std::uint32_t carved = std::min(seen.carved, layout.capacity);
    const std::uint32_t used = std::min(seen.used, carved);
    const std::uint32_t purged = std::min(seen.purged, carved - used);
    const std::uint32_t free = carved - used - purged;
    ++c.slabs;
    c.used_blocks += used;
    c.free_blocks += free;
    c.purged_blocks += purged;
    const std::size_t size = layout.units * kUnit;
    const std::size_t carved_bytes = std::size_t(carved) * layout.block_size;
    c.uncarved += size - carved_bytes;
    s_.uncommitted += size - std::min<std::size_t>(seen.entered, size);
    s_.uncommitted += purged_bytes(address, layout.units);
    if (owner_of(seen.tag) == &orphan_heap) {
      s_.orphan_free += std::size_t(free) * layout.block_size;
    }
    return layout.units;
  }

  // An address that was once a block's: its slab may be gone by now.
  void cached(const void* block, std::uint32_t count) {
    const Span* span = find_span(block);
    if (span->tag() == span_tag::kFollower) {
      const std::uintptr_t unit = align_down(address_of(block), kUnit);
      span = find_span(pointer_to(unit - distance_to_head(*span) * kUnit));
    }
    const Seen seen = look_at(*span);
    if (seen.tag < span_tag::kFirstHeap || seen.size_class >= kClasses) return;
    cached(unsigned(seen.size_class), count);
  }

  void cached(unsigned size_class, std::uint32_t count) {
    corbel_size_class_stats& c = s_.classes[size_class];
    count = std::uint32_t(std::min<std::size_t>(count, c.used_blocks));
    c.used_blocks -= count;
    c.cached_blocks += count;
  }

  Stats& s_;
};

static_assert(int(LimitSource::kDefault) == CORBEL_LIMIT_DEFAULT);
static_assert(int(LimitSource::kEnvironment) == CORBEL_LIMIT_ENVIRONMENT);
static_assert(int(LimitSource::kCall) == CORBEL_LIMIT_CALL);

void add_limits(Stats& s) {
  const LimitFigures limits = heap_limit.figures();
  s.peak_footprint = limits.peak;
  s.soft_limit = limits.soft;
  s.hard_limit = limits.hard;
  s.limit_searches = limits.reclaims;
  s.limit_episodes = limits.episodes;
  s.limit_excess = limits.exceeded_most;
  s.limit_refusals = limits.refusals;
  const ContainerLimit::Figures container = container_limit.figures();
  s.soft_limit_source = std::size_t(container.soft);
  s.hard_limit_source = std::size_t(container.hard);
  s.container_limit = container.container;
}

std::size_t helper_activity() {
  switch (helper_state()) {
    case Helper::kParked:
      return CORBEL_HELPER_RESTING;
    case Helper::kStarting:
    case Helper::kAwake:
      return CORBEL_HELPER_WORKING;
    default:
      return CORBEL_HELPER_NONE;
  }
}

}  // namespace

Stats stats() noexcept {
  Stats s{};
  s.size = sizeof(Stats);
  s.footprint = footprint.bytes();
  add_limits(s);
  s.metadata = metadata_committed() + page_map_committed();
  s.metadata_mapped = metadata_bytes() + page_map_bytes();
  s.threads = live_heaps();
  const Heap* heaps = all_heaps_made();
  Census census(&s);
  census.count_memory();
  census.count_caches(heaps);
  census.add_up();
  const SpanFigures spans = span_heap.figures();
  s.map_calls = spans.map_calls;
  s.purge_calls = spans.purge_calls;
  s.heaps_taken_over = heaps_taken_over();
  s.helper_thread = helper_activity();
  // The walk may have met what was not counted as mapped yet.
  s.peak_mapped = std::max(spans.peak_units * kUnit, s.mapped);
  return s;
}

}  // namespace corbel::alloc
