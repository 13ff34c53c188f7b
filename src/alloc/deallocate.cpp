// SPDX-License-Identifier: Apache-2.0
// free below the inline path, and what becomes of pointers that are not ours.
#include "alloc/fast_path.hpp"
#include "alloc/foreign.hpp"
#include "alloc/helper.hpp"
#include "alloc/large.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab.hpp"
#include "alloc/thread.hpp"

namespace corbel::alloc {

namespace {

void free_own(Heap* heap, Span* slab, void* block) {
  check_block("free", slab, block);
  free_owned(heap, Run::of_one(slab, block));
}

// Apart from its caller, which keeps no registers for it.
__attribute__((noinline)) void free_any(Span* span, void* block) {
  if (block == nullptr) return;
  Span* const slab = slab_head(span);
  const std::uintptr_t t = slab->tag();
  if (Heap* const heap = heap_of_thread(); owner_of(t) == heap && !helper_is_waiting()) {
    free_own(heap, slab, block);
    return note_use(heap);
  }
  call_helper(MayStart::kNo);
  if (t == span_tag::kLarge) return free_large(slab, block);
  if (t == span_tag::kForeign) return free_foreign(block);
  if (t < span_tag::kFirstHeap) die("free", "no block is allocated there", block);
  Heap* const heap = heap_for_free();
  if (heap == nullptr) return send_now(slab, block);
  SlowPath slow_path(heap);
  // Asked again: the heap may have been attached just now, and have been the owner's until then.
  if (owner_of(slab->tag()) != heap) return send_later(heap, slab, block);
  free_own(heap, slab, block);
}

}  // namespace

void deallocate_slow(Span* span, void* block) noexcept {
  const std::uintptr_t t = span->tag();
  Heap* const heap = heap_of_thread();
  // Another thread's block, in the first unit of its slab: what a consumer frees all the time. The
  // first of many goes the long way, where the helper is called.
  if (t < span_tag::kFirstHeap || owner_of(t) == heap || heap->outbox.latest == nullptr) {
    return free_any(span, block);
  }
  send_later(heap, span, block);
  note_use(heap);
}

void deallocate(void* block) noexcept { deallocate_fast(block); }

}  // namespace corbel::alloc
