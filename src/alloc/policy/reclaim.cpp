// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/reclaim.hpp"

#include "alloc/heap/bin.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/slab_pages.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/idle_heaps.hpp"

namespace corbel::alloc {

std::size_t purge_slabs(Heap* heap) {
  if (heap == nullptr || heap == &unset_heap) return 0;
  SlowPath slow_path(heap);
  std::size_t given = 0;
  for (Bin& bin : heap->bins) {
    return_current(heap, &bin);
    // A full slab that was cut from a dirty span may have committed pages after its last block.
    for (const SlabList* list : {&bin.available, &bin.full}) {
      for (Span* slab = list->first; slab != nullptr; slab = slab->next) {
        given += decommit_free_pages(slab);
      }
    }
  }
  return given;
}

std::size_t purge_orphans() {
  if (!have_orphans()) return 0;
  Heap* heap = heap_for_free();
  if (heap == nullptr) return 0;
  SlowPath slow_path(heap);
  std::size_t given = 0;
  OrphanVisit visit(heap);
  while (Span* slab = visit.next()) given += decommit_free_pages(slab);
  // While this thread visited a slab, other threads sent freed blocks of it to this heap.
  if (heap->inbox.has_any()) receive(heap);
  return given;
}

bool make_room(Heap* heap, std::size_t target, const Span* kept) {
  SlowPath slow_path(heap);
  const auto purge = [=] { return span_heap.purge_down_to(target, kept); };
  if (purge()) return true;
  if (flush_thread(heap) && purge()) return true;
  retire_rested(0);
  tidy_orphans();
  if (purge()) return true;
  if (take_over_idle_heaps(false) != 0 && purge()) return true;
  if (heap != nullptr) purge_slabs(heap);
  purge_orphans();
  if (purge()) return true;
  request_flush();
  return false;
}

bool reclaim(Heap* heap) {
  const bool flushed = flush_thread(heap);
  const bool found = retire_rested(0) != 0 || flushed;
  tidy_orphans();
  const bool slept = take_over_idle_heaps(false) != 0;
  const std::size_t free_before = span_heap.figures().free_units;
  span_heap.unmap_all();
  return found || slept || free_before != 0;
}

std::size_t trim(std::size_t keep) noexcept {
  Heap* heap = find_heap();
  SlowPath slow_path(heap);
  flush_thread(heap);
  retire_rested(0);
  tidy_orphans();
  take_over_idle_heaps(false);
  std::size_t given = purge_orphans();
  if (heap != nullptr) given += purge_slabs(heap);
  request_flush();
  return given + span_heap.purge_all(keep);
}

}  // namespace corbel::alloc
