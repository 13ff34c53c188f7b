// SPDX-License-Identifier: Apache-2.0
#include "alloc/orphans.hpp"

#include "alloc/lock_ranks.hpp"
#include "alloc/remote.hpp"
#include "alloc/slab.hpp"
#include "alloc/span_heap.hpp"

namespace corbel::alloc {

constinit Heap orphan_heap{.inbox = sync::Inbox(sync::Inbox::kShared)};
constinit sync::Lock orphans_lock{lock_rank::kOrphans};

namespace {

// Whether there are slabs of a class to adopt, so that nobody takes the lock in vain. Written with
// the lock held; relaxed: a slab missed now is found next time.
constinit std::atomic<bool> adoptable[kClasses]{};

void publish_adoptable() {
  for (unsigned i = 0; i < kClasses; ++i) {
    const bool some = orphan_heap.bins[i].available.first != nullptr;
    // relaxed both: see above; not written unless it changes, for every thread reads this line
    if (adoptable[i].load(std::memory_order_relaxed) == some) continue;
    adoptable[i].store(some, std::memory_order_relaxed);
  }
}

}  // namespace

Span* adopt_slab(Heap* heap, unsigned size_class) {
  // relaxed: see above
  if (!adoptable[size_class].load(std::memory_order_relaxed)) return nullptr;
  sync::LockGuard guard(orphans_lock);
  SlabList& available = orphan_heap.bins[size_class].available;
  Span* slab = available.first;
  if (slab == nullptr) return nullptr;
  available.remove(slab);
  // A thread that still reads the old owner sends to the orphans, who send it on.
  slab->set_tag(heap->tag());
  publish_adoptable();
  return slab;
}

void abandon_slabs(Heap* heap) {
  for (Bin& bin : heap->bins) return_current(heap, &bin);
  release_empty_slabs(heap);
  sync::LockGuard guard(orphans_lock);
  for (Bin& bin : heap->bins) {
    for (SlabList* list : {&bin.available, &bin.full}) {
      while (Span* slab = list->first) {
        list->remove(slab);
        adopt(&orphan_heap, slab);
      }
    }
  }
  publish_adoptable();
}

void receive_for_idle(Heap* heap) {
  receive_into_orphans(heap);
  publish_adoptable();
}

void tidy_orphans() {
  {
    sync::LockGuard guard(orphans_lock);
    receive_for_idle(&orphan_heap);
  }
  span_heap.purge_due();
}

}  // namespace corbel::alloc
