// SPDX-License-Identifier: Apache-2.0
// The span heap: all memory that no slab and no large block uses, as coalesced free spans.
//
// Free spans are in buckets by size: one bucket per size below 64 units, eight per doubling above
// (the segregated fit of TLSF, Masmano et al., ECRTS 2004). Neighbours are found through the page
// map, in which a free span marks its first and last unit (boundary tags, Knuth). Adjacent free
// spans coalesce, even if they come from different chunks.
//
// A free span keeps its pages for the purge delay. A list in the order of freeing tells which spans
// are due for purging. The system is never called with the lock held.
//
// What a purge does with a span (give_back_mode): from 2 MiB on it unmaps the span; below, it
// decommits the pages, because to unmap them would mostly split a mapping. An island, a small span
// between units that are not ours, is unmapped too: that splits nothing, and otherwise islands
// would pile up, since no neighbour can ever join them. So an island is in the purge order even if
// it is clean. Unmapping stops to split mappings when the heap has many areas (kMaxAreas): the
// number of mappings of a process is limited, and the program needs some.
//
// The span heap counts a span's pages in the footprint (footprint.hpp) when the span is allocated,
// except for those that are dirty, because these are counted already. A clean span for a slab is
// not counted at all: the slab counts its pages when it commits them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/dirty_pages.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/page_map.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

struct SpanFigures {
  std::size_t mapped_units;
  std::size_t peak_units;  // the maximum of mapped_units
  std::size_t free_units;
  std::size_t dirty_units;  // free units with at least one dirty page
  std::size_t dirty_pages;  // dirty pages in free units, of kDirtyPage bytes each
  std::size_t areas;        // runs of adjacent units that are ours
  std::size_t map_calls;
  std::size_t purge_calls;
};

struct SpanRequest {
  std::size_t units;
  std::size_t align_units = 1;  // a power of two
  // The span is for a slab. If it reads as zeros, it is not counted in the footprint: the slab
  // counts its pages when it commits them.
  bool for_slab = false;
  // The slab may remain mostly unused: prefer memory that was never touched to resident memory.
  bool sparse = false;
  // The bytes whose pages will move to this span from another one, where they are counted already.
  std::size_t moving_in = 0;

  // Result: the part of `moving_in` whose count passes from the other span to this one.
  std::size_t taken_over = 0;
  // Result of a failure: the bytes that did not fit under a limit; 0 if the system refused.
  std::size_t shortage = 0;
  // Result of a failure with a shortage: a free span that the next attempt is likely to use.
  // Reclaiming should spare it, because the next attempt would commit most of its pages again.
  const Span* kept = nullptr;
};

// The result of moving the content of a span to another.
enum class ContentMove {
  kMoved,   // all pages were moved: the source reads as zeros
  kCopied,  // at least a part was copied: all bytes of both spans are counted
  kUndone   // nothing was moved: the source is unchanged, the target is gone
};

class SpanHeap {
 public:
  constexpr SpanHeap() = default;

  // Returns a span of `units` units that begins at a multiple of `align_units`. The tags of all its
  // units are kInterior; `units` and `zeroed` are set. nullptr when the system has no more memory
  // or a limit leaves no room. Calls the system when no free span fits. Requires: the caller holds
  // no lock.
  Span* allocate(SpanRequest& request);

  Span* allocate(std::size_t units, std::size_t align_units) {
    SpanRequest request{.units = units, .align_units = align_units};
    return allocate(request);
  }

  // Frees a span. Requires: all its units have the tag kInterior and all its bytes are counted;
  // `zeroed` is set if it still reads as zeros. Does not call the system. Returns true if
  // purge_due() should be called as soon as no lock is held.
  bool free(Span* span);

  // Like free(), for a span of which only the pages marked as dirty are counted (dirty_pages.hpp).
  bool free_pages(Span* span);

  // Like free(), for a span whose content has moved to another, which has taken over the count of
  // `taken_over` bytes.
  bool free_moved(Span* span, std::size_t taken_over);

  // Frees a span and gives its pages and addresses back to the system at once.
  void free_and_unmap(Span* span);

  // Grows a span in place into the free span after it. Returns false if that is not large enough,
  // or if a limit leaves no room: then `shortage` is set, else it is 0.
  bool grow(Span* span, std::size_t units, std::size_t* shortage);

  // Frees all but the first `units` units, of which the last `tail` bytes are neither resident nor
  // counted. Returns the same as free().
  bool shrink(Span* span, std::size_t units, std::size_t tail);

  // Commits pages that are counted in the footprint. When the system has no memory left, gives all
  // free memory back to it and tries again. Returns whether the pages can be used. Requires: the
  // caller holds no lock of the span heap's rank or higher.
  bool commit(void* address, std::size_t size) {
    return os::commit(address, size) || commit_after_purge(address, size);
  }

  // Moves the content of the first `units` units of one span to another. Moves pages where the
  // system can, and copies where it cannot, if the limit leaves room for both spans. The
  // `taken_over` bytes of `to` are not counted yet (SpanRequest). Returns kUndone if there is no
  // room, or if the system has lost `to`.
  ContentMove move_content(Span* from, Span* to, std::size_t units, std::size_t taken_over);

  // Purges the free spans that are due: freed the purge delay ago, or a shorter time while the
  // footprint exceeds the soft limit.
  void purge_due();

  // Cheap variant for frequent callers: takes the lock only if something may be due.
  void purge_if_due();

  // Whether any free memory will become due for purging.
  bool has_due_later();

  // Purges resident free memory, oldest first, until at most `keep` bytes of it are left. Returns
  // the bytes given back.
  std::size_t purge_all(std::size_t keep);

  // Purges resident free memory, oldest first, until the footprint is at most `target`. Returns
  // whether it is. Purges no more of a large span than needed, and nothing of `kept` (SpanRequest).
  bool purge_down_to(std::size_t target, const Span* kept);

  // Resets the state of other threads in the child of a fork, where they do not exist: none of them
  // is about to add a chunk.
  void forget_other_threads() { large_chunk_comes_ = false; }

  // Unmaps free spans, so that the system can serve another mapping: the largest first, and only a
  // bounded number of small ones.
  void unmap_all();

  // Whether age alone never makes a free span of this size due (Options::huge_threshold).
  static bool is_kept(const Span* span);

  SpanFigures figures();
  // Requires: the caller holds the lock.
  const SpanFigures& figures_under_lock() const { return figures_; }

  constexpr sync::Lock& lock() { return lock_; }

 private:
  static constexpr std::size_t kExactBuckets = 64;
  static constexpr std::size_t kBuckets = kExactBuckets + 8 * 27;

  static std::size_t bucket_of(std::size_t units);

  Span* find_fit(const SpanRequest& request) const;
  Span* search_bucket(std::size_t bucket, const SpanRequest& request) const;
  Span* take(SpanRequest& request);
  Span* take_clean(SpanRequest& request);
  Span* cut(Span* span, std::size_t lead, std::size_t units, DirtyCount dirty);
  Span* take_from(Span* span, std::size_t lead, SpanRequest& request);
  Span* take_counted(Span* span, SpanRequest& request);
  static std::size_t best_lead(const Span* span, const SpanRequest& request);
  bool commit_clean(Span* span, const SpanRequest& request);
  bool commit_after_purge(void* address, std::size_t size);

  struct Hole {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  // The address and the size of the next chunk.
  struct ChunkPlan {
    bool joins = false;  // the chunk must end at the edge, to extend the free span there
    std::uintptr_t edge = 0;
    Hole hole{};
    std::size_t mapped_units = 0;  // so far
    std::size_t min_units = 0;
    std::size_t preferred_units = 0;
    bool is_large = false;  // more than the request needs
  };
  bool plan_chunk(SpanRequest& request, ChunkPlan* plan);
  static void* place_for(const ChunkPlan& plan, std::size_t size, std::size_t alignment);
  static void* map_chunk(const ChunkPlan& plan, std::size_t align_units, std::size_t units);
  bool use_chunk(void* memory, std::size_t units, const ChunkPlan& plan, SpanRequest& request);
  bool map_and_use(ChunkPlan& plan, SpanRequest& request);
  bool add_chunk(SpanRequest& request);
  void note_mapped(std::uintptr_t begin, std::uintptr_t end);
  void note_unmapped(std::uintptr_t begin, std::uintptr_t end);
  Span* span_at_edge() const;
  void unmap_for(std::size_t units, std::size_t limit, const Span* kept);
  Span* split(Span* span, std::size_t lead, std::size_t units);
  bool put_back(Span* span, DirtyCount dirty);

  // Notes that these units are a kernel mapping of their own. Requires: the lock is held.
  static void mark_mapping(Span* first, std::size_t units);

  // Two ways to undo a move; both free the target. take_back() is for a limit that leaves no room.
  // give_up() is for a target of which the system has lost a part; `counted` bytes of the target
  // are counted.
  void take_back(Span* from, Span* to, std::size_t moved_units, std::size_t taken_over);
  void give_up(Span* from, char* start, std::size_t units, std::size_t lost_begin,
               std::size_t lost_end, std::size_t counted);

  // insert() coalesces a span with its free neighbours and links the result. link() puts a span
  // into its bucket and, if it is dirty or an island, into the purge order. unlink() undoes link().
  void insert(Span* span);
  void link(Span* span);
  void link_for_purge(Span* span);
  void link_island(Span* span);  // for a clean one
  bool is_in_purge_order(const Span* span) const;
  void unlink(Span* span);

  enum class GiveBack { kPages, kAddresses };
  struct Given {
    std::size_t bytes;  // that were resident
    bool refused;       // the system took nothing
  };
  static GiveBack give_back_mode(const Span* span);
  // Whether unmapping the span would split a mapping while the heap has many areas already.
  bool splits_too_many(const Span* span) const;
  // Unlinks a free span, releases the lock, decommits or unmaps the span, and takes the lock again.
  // Inserts the span again unless it was unmapped. Does not unmap a span that splits_too_many().
  // Requires: the lock is held.
  Given give_back(Span* span, GiveBack how);
  // Count the areas when units become ours, and when they are about to be lost. Both change the
  // tags of the first and the last unit, from kForeign to kInterior and back, in the same critical
  // section. So every thread that counts sees the neighbours as they were counted. Require: the
  // lock is held.
  void enter_area(Span* first, std::size_t units);
  void leave_area(Span* first, std::size_t units);
  // Puts the clean free neighbours of a range that was unmapped into the purge order if they are
  // islands now.
  void note_islands(char* begin, char* end);
  Span* to_unmap_from(std::size_t bucket, bool may_split) const;
  Span* next_due() const;
  void note_oldest();

  sync::Lock lock_{lock_rank::kSpans};

  // Free spans by size; bit i of non_empty_ is set exactly if buckets_[i] has a member.
  Span* buckets_[kBuckets]{};
  std::uint64_t non_empty_[(kBuckets + 63) / 64]{};

  // The purge order: the free spans with dirty pages and the islands, roughly sorted by `freed_at`.
  Span* oldest_ = nullptr;
  Span* newest_ = nullptr;
  // A copy of oldest_->freed_at for threads that do not hold the lock; kNever if there is no such
  // span.
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::atomic<std::uint64_t> oldest_since_{kNever};

  SpanFigures figures_{};
  std::uintptr_t edge_ = 0;  // the lowest address of the heap, below which chunks are added
  Hole hole_{};              // the largest unmapped range above the edge, approximately

  // A thread is about to add a large chunk. Until it has, other threads map only small chunks;
  // otherwise many threads that need memory at once would each map a large one.
  bool large_chunk_comes_ = false;
};

extern SpanHeap span_heap;

}  // namespace corbel::alloc
