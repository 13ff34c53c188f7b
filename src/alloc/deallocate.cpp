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

void deallocate_slow(void* block) noexcept {
  if (block == nullptr) return;
  call_helper(MayStart::kNo);
  Span* span = find_span(block);
  std::uintptr_t t = span != nullptr ? span->tag() : span_tag::kForeign;
  if (t == span_tag::kLarge) return free_large(span, block);
  if (t == span_tag::kFollower) {
    span = slab_head(span);
    t = span->tag();
  }
  if (t == span_tag::kForeign) return free_foreign(block);
  if (t < span_tag::kFirstHeap) die("free", "no block is allocated there", block);
  Heap* heap = heap_for_free();
  if (heap == nullptr) return send_now(span, block);
  SlowPath slow_path(heap);
  // Read again: the heap may have been attached just now, and have been the owner's until then.
  if (owner_of(span->tag()) != heap) return send_later(heap, span, block);
  check_block("free", span, block);
  free_owned(heap, span, block);
}

void deallocate(void* block) noexcept { deallocate_fast(block); }

}  // namespace corbel::alloc
