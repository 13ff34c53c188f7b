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

void publish_adoptable(unsigned size_class) {
  std::atomic<bool>& published = adoptable[size_class];
  const bool some = orphan_heap.bins[size_class].available.first != nullptr;
  // relaxed both: see above; not written unless it changes, for every thread reads this line
  if (published.load(std::memory_order_relaxed) == some) return;
  published.store(some, std::memory_order_relaxed);
}

void publish_adoptable() {
  for (unsigned i = 0; i < kClasses; ++i) publish_adoptable(i);
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
  slab->visit.used = SlabVisit::kNever;
  publish_adoptable(size_class);
  return slab;
}

// ---- visits -----------------------------------------------------------------------------------
// Each visit has a number, with which it stamps what it has seen, and takes from the front of a
// list what it puts back at its end. So all that lies behind a slab with its stamp has it too, or
// has come to the orphans since. Of two visits at one time the older lets the younger's stamps pass
// for its own, lest they chase each other round the list.

namespace {

constinit std::uint16_t last_visit = 0;  // under orphans_lock

// Numbers come again after 65,535 visits. A slab that was full so long might bear the stamp of one
// to come, and is passed over by as many visits as may be at work at one time.
constexpr std::uint16_t kVisitsAtOneTime = 16;

// Slabs passed over before the lock is given to others.
constexpr int kPassedAtOnce = 64;

}  // namespace

bool OrphanVisit::has_visited(const Span* slab) const {
  return std::uint16_t(slab->visit.number - number_) < kVisitsAtOneTime;
}

// The next slab worth looking at, taken out of its list. nullptr with bin_ < kClasses: the lock was
// held for long enough. Expects the lock held.
Span* OrphanVisit::find() {
  for (int passed = 0; bin_ < kClasses; ++bin_) {
    SlabList& available = orphan_heap.bins[bin_].available;
    while (available.first != nullptr && !has_visited(available.first)) {
      Span* slab = available.first;
      available.remove(slab);
      slab->visit.number = number_;
      if (slab->blocks.used.get() != slab->visit.used) return slab;
      available.push_back(slab);
      if (++passed == kPassedAtOnce) return nullptr;
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
      adopt(&orphan_heap, held_);
    }
    held_ = find();
    if (held_ != nullptr) held_->set_tag(visitor_->tag());
    publish_adoptable();
  } while (held_ == nullptr && bin_ < kClasses);
  return held_;
}

void abandon_slabs(Heap* heap) {
  for (Bin& bin : heap->bins) return_current(heap, &bin);
  release_empty_slabs(heap);
  for (Bin& bin : heap->bins) bin.entered_kib = 0;
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

bool have_orphans() {
  for (const std::atomic<bool>& some : adoptable) {
    if (some.load(std::memory_order_relaxed)) return true;  // relaxed: see above
  }
  return false;
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
