// SPDX-License-Identifier: Apache-2.0
// The span heap: all memory that no slab and no large block uses, as coalesced runs of units.
//
// Free spans sit in buckets by size, exact below 64 units and eight to a doubling above (the
// segregated fit of TLSF, Masmano et al., ECRTS 2004); neighbours are found through the page map,
// in which a free span marks its first and last unit (boundary tags, Knuth). Whatever lies side by
// side coalesces, whether the system gave it in one chunk or in several.
//
// A free span keeps its pages for a while, then they are purged: a list in the order of freeing
// says what is due. The system is never called with the lock held.
//
// What is taken is counted in the footprint here (footprint.hpp): all of a block's units that are
// not counted as dirty already, nothing of a slab that reads as zeros.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/dirty_pages.hpp"
#include "alloc/lock_ranks.hpp"
#include "alloc/page_map.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

struct SpanFigures {
  std::size_t mapped_units;
  std::size_t peak_units;  // the most of these there have been
  std::size_t free_units;
  std::size_t dirty_units;  // of the free ones: those with a dirty page
  std::size_t dirty_pages;  // in them, of kDirtyPage bytes
  std::size_t map_calls;
  std::size_t purge_calls;
};

struct SpanRequest {
  std::size_t units;
  std::size_t align_units = 1;  // a power of two
  // A span that reads as zeros is for a slab, which counts what it carves.
  bool for_slab = false;
  // Perhaps little of it will be needed: rather what was never touched than what is resident.
  bool sparse = false;
  // Bytes that will move here with their pages: counted already, where they are now.
  std::size_t moving_in = 0;

  // Of `moving_in`, what the span has taken over into its own count.
  std::size_t taken_over = 0;
  // Set when there was no room to commit so many bytes; 0 when it was the system that refused.
  std::size_t shortage = 0;
  // With it: a free span most of whose pages will be taken, so that giving them back gains nothing.
  const Span* kept = nullptr;
};

// How the content of a span came to another.
enum class ContentMove {
  kMoved,   // all of it by pages: the first span reads as zeros
  kCopied,  // some of it was copied, and both count as a whole
  kUndone   // not at all: the first span is as before, the other is no span any more
};

class SpanHeap {
 public:
  constexpr SpanHeap() = default;

  // A span of `units`, its first unit at a multiple of `align_units`, the tags of all its units
  // kInterior, `units` and `zeroed` set. nullptr when the system has no more or there is no room.
  // Calls the system when nothing free fits.
  Span* allocate(SpanRequest& request);

  Span* allocate(std::size_t units, std::size_t align_units) {
    SpanRequest request{.units = units, .align_units = align_units};
    return allocate(request);
  }

  // Takes back a span whose units all have the tag kInterior again and count as a whole; `zeroed`
  // says whether it still reads as zeros. Does not call the system. True if purge_due() should be
  // called as soon as no lock is held.
  bool free(Span* span);

  // As free() for a span of which only the pages count whose bits are set (dirty_pages.hpp).
  bool free_pages(Span* span);

  // As free() for a span whose content has moved away, `taken_over` bytes with their count.
  bool free_moved(Span* span, std::size_t taken_over);

  // As free, and gives pages and addresses back at once.
  void free_and_unmap(Span* span);

  // Makes a span larger without moving it, out of the free span behind it. False if there is none
  // large enough, or no room: then `shortage` is set.
  bool grow(Span* span, std::size_t units, std::size_t* shortage);

  // Gives the units behind the first `units` back. As free() otherwise.
  bool shrink(Span* span, std::size_t units);

  // Moves the content of the first `units` units of one span to another, by its pages where the
  // system can and by copying where not, if both may be resident: of `to`, `taken_over` bytes are
  // not counted yet. It is undone where they may not be, or the system has lost `to` over it.
  ContentMove move_content(Span* from, Span* to, std::size_t units, std::size_t taken_over);

  // Purges what was freed long enough ago, or is too much for the limit.
  void purge_due();

  // The same for who comes again and again: takes the lock only if it may find something.
  void purge_if_due();

  // Whether anything free will be due for purging though nobody asks for it.
  bool has_due_later();

  // Gives resident free memory back until at most `keep` bytes of it are left; returns how much
  // that was.
  std::size_t purge_all(std::size_t keep);

  // Gives resident free memory back, oldest first, until the footprint is at most `target`; true if
  // it is. Of a large span only as much as is needed, and nothing of `kept` (SpanRequest).
  bool purge_down_to(std::size_t target, const Span* kept);

  // In the child of a fork, which does not have the threads that were about to add something.
  void forget_other_threads() { large_chunk_comes_ = false; }

  // Gives all free spans back, addresses too, to make room for another mapping.
  void unmap_all();

  // Whether a span of this size stays resident however long it is free (Options::huge_threshold).
  static bool is_kept(const Span* span);

  SpanFigures figures();

  sync::Lock& lock() { return lock_; }

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

  struct Hole {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  // The next chunk: where it goes and how large it is, at least and if there is room.
  struct ChunkPlan {
    bool joins = false;  // it must end at the edge, to make a free span longer
    std::uintptr_t edge = 0;
    Hole hole{};
    std::size_t mapped = 0;  // units so far
    std::size_t least = 0;
    std::size_t roomy = 0;
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

  // Notes that the system has made a mapping of its own of these units. Expects the lock held.
  static void mark_mapping(Span* first, std::size_t units);

  // The two ways to undo a move, after which `to` is gone; `counted` bytes of it are.
  void take_back(Span* from, Span* to, std::size_t moved_units, std::size_t taken_over);
  void give_up(Span* from, char* start, std::size_t units, std::size_t lost_begin,
               std::size_t lost_end, std::size_t counted);

  // Puts a run among the free spans; insert() coalesces it with its neighbours first.
  void insert(Span* span);
  void link(Span* span);
  void unlink(Span* span);

  enum class GiveBack { kPages, kAddresses };
  static GiveBack way_for(const Span* span);
  // Takes a free span out, gives it back with the lock released, and puts in again what is left.
  // Expects the lock held and returns with it held; the resident bytes given back.
  std::size_t give_back(Span* span, GiveBack how);
  Span* next_due() const;
  void note_oldest();

  sync::Lock lock_{lock_rank::kSpans};

  // Free spans by size; bit i of non_empty_ is set exactly if buckets_[i] has a member.
  Span* buckets_[kBuckets]{};
  std::uint64_t non_empty_[(kBuckets + 63) / 64]{};

  // Free spans that are not zeroed, in the order of `freed_at`.
  Span* oldest_ = nullptr;
  Span* newest_ = nullptr;
  // The first one's `freed_at`, for who has not got the lock.
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::atomic<std::uint64_t> oldest_since_{kNever};

  SpanFigures figures_{};
  std::uintptr_t edge_ = 0;  // where the heap begins that chunks are added to from below
  Hole hole_{};              // the largest, or nearly, of what was unmapped above that

  // A thread is about to add a large chunk. Others that need memory meanwhile map little, or a
  // crowd of threads would multiply what is mapped.
  bool large_chunk_comes_ = false;
};

extern SpanHeap span_heap;

}  // namespace corbel::alloc
