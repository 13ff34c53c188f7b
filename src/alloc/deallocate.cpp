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

void free_any(Span* span, void* block) {
  if (block == nullptr) return;
  call_helper(MayStart::kNo);
  const std::uintptr_t t = span->tag();
  if (t == span_tag::kLarge) return free_large(span, block);
  if (t == span_tag::kForeign) return free_foreign(block);
  if (t < span_tag::kFirstHeap) die("free", "no block is allocated there", block);
  Heap* heap = heap_for_free();
  if (heap == nullptr) return send_now(span, block);
  SlowPath slow_path(heap);
  // Read again: the heap may have been attached just now, and have been the owner's until then.
  if (owner_of(span->tag()) != heap) return send_later(heap, span, block);
  check_block("free", span, block);
  free_owned(heap, Run::of_one(span, block));
}

}  // namespace

void deallocate_slow(Span* span, void* block) noexcept {
  Span* const slab = slab_head(span);
  const std::uintptr_t t = slab->tag();
  Heap* const heap = heap_of_thread();
  const bool is_own = owner_of(t) == heap;
  // The first of many blocks of other threads goes the long way, where the helper is called.
  if (t < span_tag::kFirstHeap || (!is_own && heap->outbox.run_count == 0)) {
    return free_any(slab, block);
  }
  check_block("free", slab, block);
  if (is_own) {
    free_owned(heap, Run::of_one(slab, block));
  } else if (put_into_outbox(heap, slab, block)) {
    SlowPath slow_path(heap);
    send_all(heap);
  }
  note_use(heap);
}

void deallocate(void* block) noexcept { deallocate_fast(block); }

}  // namespace corbel::alloc
