// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/flush.hpp"

#include "alloc/heap/bin.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/sampling.hpp"

namespace corbel::alloc {

namespace {

// Counts the requests.
constinit std::atomic<std::uint32_t> flush_request{0};

}  // namespace

bool flush_thread(Heap* heap) {
  if (heap == nullptr) return false;
  SlowPath slow_path(heap);
  // (1) acquire: sees what the thread did that made the request (2)
  heap->flush_seen = flush_request.load(std::memory_order_acquire);
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
  found = release_empty_slabs(heap) || found;
  follow_sampling(heap);
  return found;
}

void receive_and_flush(Heap* heap) {
  if (heap->inbox.has_any()) receive(heap);
  if (flush_is_wanted(heap)) flush_thread(heap);
}

// (2) release: for (1)
void request_flush() { flush_request.fetch_add(1, std::memory_order_release); }

// relaxed: a request that is seen late is honoured late
bool flush_is_wanted(const Heap* heap) {
  return heap->flush_seen != flush_request.load(std::memory_order_relaxed);
}

}  // namespace corbel::alloc
