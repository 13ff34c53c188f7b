// SPDX-License-Identifier: Apache-2.0
// free below the inline path.
#include "alloc/heap/deallocate.hpp"

#include <algorithm>

#include "alloc/heap/allocate.hpp"
#include "alloc/heap/bin.hpp"
#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/fast_path.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/foreign.hpp"
#include "alloc/heap/guarding.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/slab.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/pages/span_heap.hpp"

namespace corbel::alloc {

namespace {

void free_own(Heap* heap, Span* slab, void* block) {
  check_block("free", slab, block);
  free_owned(heap, Batch::of_one(slab, block));
}

[[noreturn]] __attribute__((noinline, cold)) void die_of_size(const void* block) {
  die("operator delete", "the size is not that of the block", block);
}

// Ends the process if a sized form of delete or free is told a size that a block of this class or
// span cannot have been requested with. After a realloc in place, which only blocks of malloc have,
// a block may be too large for its size.
void check_told_size(const Span* span, const void* block, const Release& release) {
  const std::size_t alignment = release.alignment;
  const std::size_t enough = alignment > sizeof(void*) && alignment <= kMinAlignment
                                 ? std::max(release.size, alignment)
                                 : release.size;
  unsigned size_class = kClasses;
  if (enough <= kMediumMax) {
    size_class =
        alignment <= kMinAlignment ? class_of(enough) : aligned_class_of(enough, alignment);
  }
  const bool is_free = release.kind() == ReleaseKind::kFree;
  if (span->tag() == span_tag::kLarge) {
    const std::size_t units = std::max<std::size_t>(divide_up(enough, kUnit), 1);
    if (is_free ? units <= span->units : size_class == kClasses && units == span->units) return;
  } else {
    if (is_free ? size_class <= span->size_class : size_class == span->size_class) return;
  }
  die_of_size(block);
}

inline void check_told(const Span* span, const void* block, const Release& release) {
  if (release.size != Release::kNoSize) [[unlikely]]
    check_told_size(span, block, release);
}

// Does the periodic work of a thread that gets all its blocks from those that it frees: it makes no
// refill, and never fills its outbox.
__attribute__((noinline)) void work_without_refill(Heap* heap) {
  SlowPath slow_path(heap);
  call_helper(MayStart::kNo);
  receive_and_flush(heap);
  take_rested_heaps_apart();
  span_heap.purge_if_due();
}

// Borrows the block if the bin may, and if it is not the one that would be sampled.
inline bool borrow_charged(Heap* heap, unsigned size_class, void* block) {
  Sampler* const sampler = heap->sampler;
  if (sampler == nullptr) [[likely]]
    return borrow(heap->bins[size_class], block);
  if (sampler->is_due(size_class) || !borrow(heap->bins[size_class], block)) return false;
  sampler->charge(size_class, 1);
  return true;
}

// Frees a block of another thread's slab: checks it, and borrows or sends it.
inline void free_remote(Heap* heap, Span* slab, void* block) {
  check_block("free", slab, block);
  if (!borrow_charged(heap, slab->size_class, block)) return send_later(heap, slab, block);
  if (++heap->refills % kRefillsPerPurge == 0) [[unlikely]]
    work_without_refill(heap);
}

// Not inlined, so that its caller need not save registers for it.
__attribute__((noinline)) void free_any(void* block, Span* span, arch::TwoWords<Release> release) {
  if (block == nullptr || os::other_threads_are_gone()) return;
  if (heap_of_thread() == &unset_heap && first_call_is_watched()) [[unlikely]]
    return watched_deallocate(block, release);
  Span* const slab = slab_head(span);
  const std::uintptr_t t = slab->tag();
  if (t >= span_tag::kFirstHeap || t == span_tag::kLarge) check_told(slab, block, release);
  if (Heap* const heap = heap_of_thread(); owner_of(t) == heap && !helper_is_waiting()) {
    free_own(heap, slab, block);
    return note_use(heap);
  }
  call_helper(MayStart::kNo);
  if (t == span_tag::kLarge) return free_large(slab, block);
  if (t == span_tag::kForeign) return free_foreign(block);
  if (t == span_tag::kSampled) {
    check_told(slab, block, release);
    return free_sampled(slab, block);
  }
  if (t == span_tag::kGuarded) return free_guarded(block, release);
  if (t < span_tag::kFirstHeap) die("free", "no block is allocated there", block);
  Heap* const heap = heap_for_free();
  if (heap == nullptr) return send_now(slab, block);
  SlowPath slow_path(heap);
  // A thread that holds no more than one block at a time gets here with each of them, and may make
  // no refill.
  receive_and_flush(heap);
  // Read the tag again: heap_for_free() may just have attached the heap that owned the slab when
  // `t` was read. That heap may have been retired in between, and then no longer owns the slab.
  if (owner_of(slab->tag()) != heap) return free_remote(heap, slab, block);
  free_own(heap, slab, block);
}

// Not inlined either.
__attribute__((noinline)) void free_other(void* block, Span* span,
                                          arch::TwoWords<Release> release) {
  const std::uintptr_t t = span->tag();
  Heap* const heap = heap_of_thread();
  if (t < span_tag::kFirstHeap || owner_of(t) == heap) return free_any(block, span, release);
  // A block of another thread, in the first unit of its slab. While the thread holds none,
  // free_any() is used, so that a slow path still calls the helper thread from time to time.
  if (heap->outbox.latest == nullptr && borrowed_count(heap->bins[span->size_class]) == 0) {
    return free_any(block, span, release);
  }
  // As in free_any(): what locks protect may be half changed.
  if (os::other_threads_are_gone()) return;
  check_told(span, block, release);
  free_remote(heap, span, block);
  note_use(heap);
}

// The batch in the outbox that a block of this span only has to be added to; nullptr if the block
// may have to go another way, or if there is no such batch.
inline Batch* batch_to_join(Heap* heap, const Span* span, const Release& release) {
  const std::uintptr_t t = span->tag();
  if (t < span_tag::kFirstHeap || owner_of(t) == heap) return nullptr;
  if (heap->bins[span->size_class].borrow_capacity != 0) return nullptr;
  if (release.size != Release::kNoSize || os::other_threads_are_gone()) return nullptr;
  return find_batch(heap->outbox, span);
}

}  // namespace

// A consumer thread frees blocks of the same slabs of other threads all the time. So these have a
// path that calls nothing until the outbox is full.
void deallocate_slow(void* block, Span* span, arch::TwoWords<Release> release) noexcept {
  Heap* const heap = heap_of_thread();
  Batch* const batch = batch_to_join(heap, span, release);
  if (batch == nullptr) return free_other(block, span, release);
  check_block("free", span, block);
  ++heap->bins[span->size_class].sent;
  put_into_batch(heap, batch, block);
  note_use(heap);
}

void deallocate(void* block) noexcept { deallocate_fast(block); }

}  // namespace corbel::alloc
