// SPDX-License-Identifier: Apache-2.0
// The span heap: all memory that no slab and no large block uses, as coalesced runs of units.
//
// Free spans sit in buckets by size, exact below 64 units and eight to a doubling above (the
// segregated fit of TLSF, Masmano et al., ECRTS 2004); neighbours are found through the page map,
// in which a free span marks its first and last unit (boundary tags, Knuth). Whatever lies side by
// side coalesces, whether the system gave it in one chunk or in several.
//
// A free span keeps its pages for a while, then they are purged: `dirty_units` and a list in the
// order of freeing say what is due. The system is never called with the lock held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/lock_ranks.hpp"
#include "alloc/page_map.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

struct SpanFigures {
  std::size_t mapped_units;
  std::size_t free_units;
  std::size_t dirty_units;  // of the free ones
  std::size_t map_calls;
  std::size_t purge_calls;
};

class SpanHeap {
 public:
  constexpr SpanHeap() = default;

  // A span of `units`, its first unit at a multiple of `align_units` (a power of two), the tags of
  // all its units kInterior, `units` and `zeroed` set. nullptr when the system has no more. Calls
  // the system when nothing free fits.
  Span* allocate(std::size_t units, std::size_t align_units);

  // Takes back a span whose units all have the tag kInterior again; `zeroed` says whether it still
  // reads as zeros. Does not call the system. True if purge_due() should be called as soon as no
  // lock is held.
  bool free(Span* span);

  // As free, and gives pages and addresses back at once.
  void free_and_unmap(Span* span);

  // Makes a span larger without moving it, out of the free span behind it. False if there is none
  // large enough.
  bool grow(Span* span, std::size_t units);

  // Gives the units behind the first `units` back. As free() otherwise.
  bool shrink(Span* span, std::size_t units);

  // Moves the content of the first `units` units of one span to another, by its pages where the
  // system can and by copying where not. False if the system has lost `to` over it: then `from`
  // reads as before and `to` is no span any more.
  bool move_content(Span* from, Span* to, std::size_t units);

  // Purges what was freed long enough ago, or is too much for the limit.
  void purge_due();

  // Gives resident free memory back until at most `keep` bytes of it are left; returns how much
  // that was.
  std::size_t purge_all(std::size_t keep);

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

  Span* take_fit(std::size_t units, std::size_t align_units);
  Span* search_bucket(std::size_t bucket, std::size_t units, std::size_t align_units);
  Span* cut(Span* span, std::size_t units, std::size_t align_units);
  bool add_chunk(std::size_t units, std::size_t align_units);

  // Notes that the system has made a mapping of its own of these units. Expects the lock held.
  static void mark_mapping(Span* first, std::size_t units);

  // Drops a span whose addresses are no longer ours.
  void forget(const Span* span);

  // Puts a run among the free spans; insert() coalesces it with its neighbours first.
  void insert(Span* span);
  void link(Span* span);
  void unlink(Span* span);

  enum class GiveBack { kPages, kAddresses };
  static GiveBack way_for(const Span* span);
  // Takes a free span out, gives it back with the lock released, and puts in again what is left.
  // Expects the lock held and returns with it held; the resident bytes given back.
  std::size_t give_back(Span* span, GiveBack how);
  bool is_over_limit() const;
  Span* next_due() const;

  sync::Lock lock_{lock_rank::kSpans};

  // Free spans by size; bit i of non_empty_ is set exactly if buckets_[i] has a member.
  Span* buckets_[kBuckets]{};
  std::uint64_t non_empty_[(kBuckets + 63) / 64]{};

  // Free spans that are not zeroed, in the order of `freed_at`.
  Span* oldest_ = nullptr;
  Span* newest_ = nullptr;

  SpanFigures figures_{};
  std::uintptr_t place_below_ = 0;  // where the next chunk should end
};

extern SpanHeap span_heap;

}  // namespace corbel::alloc
