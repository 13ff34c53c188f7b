// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/orphans.hpp"

#include <initializer_list>

#include "alloc/map/lock_ranks.hpp"

namespace corbel::alloc {

constinit sync::Lock orphans_lock{lock_rank::kOrphans};

namespace {

// Whether there are slabs of each class to adopt, so that a thread seldom takes the lock in vain.
// Written with the lock held. relaxed: a slab that a thread misses now is found next time
constinit std::atomic<bool> adoptable[kClasses]{};

void publish_adoptable(unsigned size_class) {
  std::atomic<bool>& published = adoptable[size_class];
  const bool some = orphan_heap.bins[size_class].available.first != nullptr;
  // relaxed both: a flag that is out of date does no harm. Writes only changes, because every
  // thread reads this cache line
  if (published.load(std::memory_order_relaxed) == some) return;
  published.store(some, std::memory_order_relaxed);
}

}  // namespace

void publish_adoptable() {
  for (unsigned i = 0; i < kClasses; ++i) publish_adoptable(i);
}

Span* adopt_slab(Heap* heap, unsigned size_class) {
  // relaxed: a slab that is missed now is found next time
  if (!adoptable[size_class].load(std::memory_order_relaxed)) return nullptr;
  sync::LockGuard guard(orphans_lock);
  SlabList& available = orphan_heap.bins[size_class].available;
  Span* slab = available.first;
  if (slab == nullptr) return nullptr;
  available.remove(slab);
  // A thread that still reads the old tag sends its blocks to the orphan heap, where they are sent
  // on to `heap`.
  slab->set_tag(heap->tag());
  slab->visit.used = SlabVisit::kNever;
  publish_adoptable(size_class);
  return slab;
}

// ---- visits -----------------------------------------------------------------------------------
// Each visit has a number and stamps it on every slab that it has seen. It takes slabs from the
// front of a list and puts them back at the end. So when the slab at the front has the visit's
// stamp, all slabs after it have it too, or have become orphans since, and the visit of the list is
// over. If two visits run at the same time, the older one accepts the younger one's stamps as its
// own; otherwise both would go round the list without end.

namespace {

constinit std::uint16_t last_visit = 0;  // under orphans_lock

// How many visits may run at the same time. Visit numbers repeat after 65,535 visits. A slab that
// was full for that long may carry the stamp of a future visit; then at most this many visits skip
// it.
constexpr std::uint16_t kMaxConcurrentVisits = 16;

// Slabs skipped before the lock is released for other threads.
constexpr int kMaxSkipsPerLock = 64;

}  // namespace

bool OrphanVisit::has_visited(const Span* slab) const {
  return std::uint16_t(slab->visit.number - number_) < kMaxConcurrentVisits;
}

// Removes the next slab worth a visit from its list and returns it. nullptr with bin_ == kClasses
// at the end. nullptr with bin_ < kClasses when the lock has been held for long enough: the caller
// releases it and tries again. Requires: the lock is held.
Span* OrphanVisit::find() {
  for (int skipped = 0; bin_ < kClasses; ++bin_) {
    SlabList& available = orphan_heap.bins[bin_].available;
    while (available.first != nullptr && !has_visited(available.first)) {
      Span* slab = available.first;
      available.remove(slab);
      slab->visit.number = number_;
      if (slab->blocks.used.get() != slab->visit.used) return slab;
      available.push_back(slab);
      if (++skipped == kMaxSkipsPerLock) return nullptr;
    }
  }
  return nullptr;
}

Span* OrphanVisit::next() {
  do {
    sync::LockGuard guard(orphans_lock);
    if (number_ == 0) {
      if (++last_visit == 0) ++last_visit;
      number_ = last_visit;
    }
    if (held_ != nullptr) {
      held_->visit.used = std::uint16_t(held_->blocks.used.get());
      orphan_heap.add_slab(held_);
    }
    held_ = find();
    if (held_ != nullptr) held_->set_tag(visitor_->tag());
    publish_adoptable();
  } while (held_ == nullptr && bin_ < kClasses);
  return held_;
}

void make_orphans(Heap* heap) {
  sync::LockGuard guard(orphans_lock);
  for (Bin& bin : heap->bins) {
    for (SlabList* list : {&bin.available, &bin.full}) {
      while (Span* slab = list->first) {
        list->remove(slab);
        orphan_heap.add_slab(slab);
      }
    }
  }
  publish_adoptable();
}

bool have_orphans() {
  for (const std::atomic<bool>& some : adoptable) {
    if (some.load(std::memory_order_relaxed)) return true;  // relaxed: a hint
  }
  return false;
}

}  // namespace corbel::alloc
