// SPDX-License-Identifier: Apache-2.0
#include "alloc/reclaim.hpp"

#include "alloc/orphans.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab.hpp"
#include "alloc/span_heap.hpp"

namespace corbel::alloc {

bool flush_thread(Heap* heap) {
  if (heap == nullptr || heap == &unset_heap) return false;
  bool found = send_all(heap);
  if (heap->inbox.has_any()) {
    found = true;
    receive(heap);
  }
  for (Bin& bin : heap->bins) {
    if (bin.list == nullptr) continue;
    found = true;
    return_current(heap, &bin);
  }
  return release_empty_slabs(heap) || found;
}

bool reclaim(Heap* heap) {
  const bool found = flush_thread(heap);
  tidy_orphans();
  const std::size_t free_before = span_heap.figures().free_units;
  span_heap.unmap_all();
  return found || free_before != 0;
}

std::size_t trim(std::size_t keep) noexcept {
  flush_thread(this_heap);
  tidy_orphans();
  return span_heap.purge_all(keep);
}

}  // namespace corbel::alloc
