// SPDX-License-Identifier: Apache-2.0
#include "alloc/reclaim.hpp"

#include "alloc/orphans.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab.hpp"
#include "alloc/slab_pages.hpp"
#include "alloc/sleepers.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/thread.hpp"

namespace corbel::alloc {

namespace {

// relaxed: a thread that sees the request late honours it late
constinit std::atomic<std::uint32_t> flush_request{0};

}  // namespace

bool flush_thread(Heap* heap) {
  if (heap == nullptr) return false;
  SlowPath slow_path(heap);
  heap->flush_seen = flush_request.load(std::memory_order_relaxed);  // relaxed: above
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

bool make_room(Heap* heap, std::size_t target, const Span* kept) {
  SlowPath slow_path(heap);
  const auto purge = [=] { return span_heap.purge_down_to(target, kept); };
  if (purge()) return true;
  if (flush_thread(heap) && purge()) return true;
  tidy_orphans();
  if (purge()) return true;
  if (take_over_sleepers(false) != 0 && purge()) return true;
  if (heap != nullptr) purge_pages(heap);
  purge_orphan_pages();
  if (purge()) return true;
  request_flush();
  return false;
}

bool flush_is_wanted(const Heap* heap) {
  return heap->flush_seen != flush_request.load(std::memory_order_relaxed);  // relaxed: above
}

void request_flush() { flush_request.fetch_add(1, std::memory_order_relaxed); }  // relaxed: above

bool reclaim(Heap* heap) {
  const bool found = flush_thread(heap);
  tidy_orphans();
  const bool slept = take_over_sleepers(false) != 0;
  const std::size_t free_before = span_heap.figures().free_units;
  span_heap.unmap_all();
  return found || slept || free_before != 0;
}

std::size_t trim(std::size_t keep) noexcept {
  Heap* heap = find_heap();
  SlowPath slow_path(heap);
  flush_thread(heap);
  tidy_orphans();
  take_over_sleepers(false);
  std::size_t given = purge_orphan_pages();
  if (heap != nullptr) given += purge_pages(heap);
  request_flush();
  return given + span_heap.purge_all(keep);
}

}  // namespace corbel::alloc
