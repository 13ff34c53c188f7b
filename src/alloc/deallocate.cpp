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
  span = slab_head(span);
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
  const std::uintptr_t t = span->tag();
  Heap* const heap = heap_of_thread();
  if (t < span_tag::kFirstHeap || owner_of(t) == heap || heap == &unset_heap) {
    return free_any(span, block);
  }
  // Another thread's, in its first unit: what a consumer frees all the time.
  check_block("free", span, block);
  if (put_into_outbox(heap, span, block)) {
    call_helper(MayStart::kNo);
    SlowPath slow_path(heap);
    send_all(heap);
  }
  note_use(heap);
}

void deallocate(void* block) noexcept { deallocate_fast(block); }

}  // namespace corbel::alloc
