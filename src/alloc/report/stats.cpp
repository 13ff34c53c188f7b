// SPDX-License-Identifier: Apache-2.0
// The statistics of the whole process. They are computed from the descriptors on request, so that
// malloc and free need not count anything.
//
// The descriptors are read while other threads change them. The figures still agree with each
// other: the walk visits each unit of memory exactly once, attributes all of it to exactly one
// figure, and computes the sums afterwards. So a field that is read too early or too late puts
// memory into the wrong figure, but never into two. A span's length is trusted only if the
// descriptor at the span's end confirms it.
#include "alloc/report/stats.hpp"

#include <algorithm>
#include <bit>

#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/guarding.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "alloc/policy/helper.hpp"
#include "alloc/policy/idle_heaps.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

static_assert(kClasses <= CORBEL_SIZE_CLASSES);

namespace {

// The fields of a descriptor. Each was read separately, so they may not fit together.
struct Seen {
  std::uintptr_t tag;
  std::uint32_t units;
  std::uint32_t used;
  std::uint32_t carved;
  std::uint32_t decommitted;
  std::uint32_t committed;
  std::uint32_t tail;
  std::uint8_t size_class;
};

// From here to dirty_bytes(): the only functions that read what another thread may be writing at
// that moment. They read aligned words, which are never torn (sync/owner_counter.hpp), and nothing
// but the statistics depends on the values, which the thread sanitizer cannot know. relaxed: a
// statistic
__attribute__((no_sanitize("thread"))) Seen look_at(const Span& span) {
  return {
      .tag = span.tag(),
      .units = __atomic_load_n(&span.units, __ATOMIC_RELAXED),
      .used = span.blocks.used.peek(),
      .carved = span.blocks.carved.peek(),
      .decommitted = __atomic_load_n(&span.decommitted.blocks, __ATOMIC_RELAXED),
      .committed = __atomic_load_n(&span.committed, __ATOMIC_RELAXED),
      .tail = __atomic_load_n(&span.tail, __ATOMIC_RELAXED),
      .size_class = __atomic_load_n(&span.size_class, __ATOMIC_RELAXED),
  };
}

__attribute__((no_sanitize("thread"))) std::uint32_t distance_to_head(const Span& span) {
  return __atomic_load_n(&span.head_distance, __ATOMIC_RELAXED);
}

// The bytes of the decommitted pages of a slab that begins at `start`.
__attribute__((no_sanitize("thread"))) std::size_t decommitted_bytes(const char* start,
                                                                     std::size_t units) {
  std::size_t pages = 0;
  for (std::size_t i = 0; i < units; ++i) {
    const Span* unit = find_span(start + i * kUnit);
    pages += unsigned(std::popcount(__atomic_load_n(&unit->decommitted.pages, __ATOMIC_RELAXED)));
  }
  return pages * kDirtyPage;
}

__attribute__((no_sanitize("thread"))) std::uint32_t batch_count(const Outbox& outbox) {
  return std::min(__atomic_load_n(&outbox.batch_count, __ATOMIC_RELAXED), Outbox::kBatches);
}

__attribute__((no_sanitize("thread"))) Batch look_at(const Batch& batch) {
  return {nullptr, __atomic_load_n(&batch.first, __ATOMIC_RELAXED), nullptr,
          __atomic_load_n(&batch.count, __ATOMIC_RELAXED)};
}

// The bytes of the dirty pages of a free span that begins at `start`.
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

  // The next two move the blocks in threads' caches from "used", which they are in their slabs, to
  // "cached".
  void count_outboxes(const Heap* heaps) {
    for (const Heap* heap = heaps; heap != nullptr; heap = heap->next) {
      if (heap->inbox.state() != sync::Inbox::kLive) continue;
      const std::uint32_t count = batch_count(heap->outbox);
      for (std::uint32_t i = 0; i < count; ++i) {
        const Batch batch = look_at(heap->outbox.batches[i]);
        cached(batch.first, batch.count);
      }
    }
  }

  void count_own_caches() {
    Heap* own = find_heap();
    if (own == nullptr) return;
    SlowPath slow_path(own);
    for (const Bin& bin : own->bins) {
      const unsigned size_class = own->class_of_bin(bin);
      for (const Block* list : {bin.list, bin.own}) {
        // No list is longer than its slab, or has more borrowed blocks than a bin may have, unless
        // a block was freed twice.
        std::uint32_t left = std::max(kSizeClasses[size_class].capacity, kMaxBorrowed);
        for (const Block* b = list; b != nullptr && left-- != 0; b = b->next) cached(size_class, 1);
      }
    }
    // Holding the lock keeps a sender away that saw the heap idle, before this thread attached it:
    // such a sender empties the inbox itself, with this lock held.
    sync::LockGuard guard(orphans_lock);
    visit_inbox(
        *own,
        [](void* self, const void* block, std::uint32_t count) {
          static_cast<Census*>(self)->cached(block, count);
        },
        this);
  }

  void add_up() {
    // Each guarded block takes a page, like a large block; the rest of the pool has no memory.
    const std::size_t guarded = std::min(guarded_bytes(), guarded_units_ * kUnit);
    s_.large_live += guarded;
    s_.large_count += guarded / os::page_size();
    s_.free_purged += guarded_units_ * kUnit - guarded;
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
  // Attributes the memory of a span. Returns its number of units, which the walk advances by.
  std::size_t count(const Seen& seen, const char* address) {
    if (seen.tag == span_tag::kForeign) return 1;
    const bool is_slab = seen.tag >= span_tag::kFirstHeap || seen.tag == span_tag::kSampled;
    if (is_slab && seen.size_class < kClasses) return count_slab(seen, address);
    if (seen.tag == span_tag::kLarge && ends_as(seen, address, span_tag::kInterior)) {
      const std::size_t bytes = seen.units * kUnit;
      const std::size_t tail = std::min<std::size_t>(seen.tail, bytes);
      s_.large_live += bytes - tail;
      s_.free_purged += tail;
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
    if (seen.tag == span_tag::kGuarded) {
      guarded_units_ += 1;
      return 1;
    }
    // The unit is just being allocated or freed.
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
    const std::uint32_t decommitted = std::min(seen.decommitted, carved - used);
    const std::uint32_t free = carved - used - decommitted;
    ++c.slabs;
    c.used_blocks += used;
    c.free_blocks += free;
    c.purged_blocks += decommitted;
    const std::size_t size = layout.units * kUnit;
    const std::size_t carved_bytes = std::size_t(carved) * layout.block_size;
    c.uncarved += size - carved_bytes;
    s_.uncommitted += size - std::min<std::size_t>(seen.committed, size);
    s_.uncommitted += decommitted_bytes(address, layout.units);
    if (owner_of(seen.tag) == &orphan_heap) {
      s_.orphan_free += std::size_t(free) * layout.block_size;
    }
    return layout.units;
  }

  // `block` was read without synchronisation: its slab may be gone by now.
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
  std::size_t guarded_units_ = 0;
};

static_assert(int(LimitSource::kDefault) == CORBEL_LIMIT_DEFAULT);
static_assert(int(LimitSource::kEnvironment) == CORBEL_LIMIT_ENVIRONMENT);
static_assert(int(LimitSource::kCall) == CORBEL_LIMIT_CALL);

// What is under locks. No two of the locks are needed at the same time.
struct Guarded {
  LimitFigures limits;
  ContainerLimit::Figures container;
  HeapList heaps;
  SpanFigures spans;
};

Guarded read_guarded() {
  Guarded g{.limits = heap_limit.figures(),
            .container = container_limit.figures(),
            .heaps = {},
            .spans = span_heap.figures()};
  sync::LockGuard guard(registry_lock);
  g.heaps = heaps_under_lock();
  return g;
}

template <typename Read>
bool read_in_handler(sync::Lock& lock, Read read) {
  if (!lock.try_lock_in_handler()) return false;
  read();
  lock.unlock();
  return true;
}

bool read_guarded_in_handler(Guarded* g) {
  return read_in_handler(registry_lock, [&] { g->heaps = heaps_under_lock(); }) &&
         read_in_handler(span_heap.lock(), [&] { g->spans = span_heap.figures_under_lock(); }) &&
         read_in_handler(container_limit.lock(),
                         [&] { g->container = container_limit.figures_under_lock(); }) &&
         read_in_handler(heap_limit.lock(), [&] { g->limits = heap_limit.figures_under_lock(); });
}

void add_limits(Stats& s, const LimitFigures& limits, const ContainerLimit::Figures& container) {
  s.peak_footprint = limits.peak;
  s.soft_limit = limits.soft;
  s.hard_limit = limits.hard;
  s.limit_searches = limits.reclaims;
  s.limit_episodes = limits.episodes;
  s.limit_excess = limits.max_excess;
  s.limit_refusals = limits.refusals;
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

enum class OwnCaches : bool { kLeave, kCount };

void fill(Stats& s, const Guarded& g, OwnCaches own) {
  s.size = sizeof(Stats);
  s.footprint = footprint.bytes();
  add_limits(s, g.limits, g.container);
  s.metadata = metadata_committed() + page_map_committed();
  s.metadata_mapped = metadata_bytes() + page_map_bytes();
  s.threads = g.heaps.live;
  Census census(&s);
  census.count_memory();
  census.count_outboxes(g.heaps.first);
  if (own == OwnCaches::kCount) census.count_own_caches();
  census.add_up();
  s.map_calls = g.spans.map_calls;
  s.purge_calls = g.spans.purge_calls;
  s.heaps_taken_over = heaps_taken_over();
  s.helper_thread = helper_activity();
  // The walk may have seen memory that was not in the span heap's figures yet.
  s.peak_mapped = std::max(g.spans.peak_units * kUnit, s.mapped);
}

}  // namespace

Stats stats() noexcept {
  Stats s{};
  fill(s, read_guarded(), OwnCaches::kCount);
  return s;
}

bool stats_in_handler(Stats* s) noexcept {
  Guarded g{};
  if (!read_guarded_in_handler(&g)) return false;
  *s = {};
  fill(*s, g, OwnCaches::kLeave);
  return true;
}

}  // namespace corbel::alloc
