// SPDX-License-Identifier: Apache-2.0
// Slabs that outlive their thread.
//
// They belong to the orphan heap, an ordinary heap whose "thread" is whoever holds its lock. Any
// thread that needs a slab of some class takes one of these before it asks for a new one; blocks
// freed meanwhile are put back by the thread that frees them.
#pragma once

#include "alloc/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

extern Heap orphan_heap;
extern sync::Lock orphans_lock;

// Moves a slab with something to give from the orphans to `heap`; nullptr if there is none. The
// slab is in no list.
Span* adopt_slab(Heap* heap, unsigned size_class);

// Whether there is anything to adopt, as far as can be seen without the lock.
bool have_orphans();

// A walk over the orphans that have something to give, each of which belongs to `visitor`, the heap
// of the calling thread, while it is being looked at: no lock is held then. Blocks that others free
// meanwhile come into the visitor's inbox, and from there, when the slab is back, to the orphans.
// A slab of which nothing was freed since it was last visited is passed over.
//
// A fork in another thread leaves the slab that is being looked at to the lost heap in the child.
class OrphanVisit {
 public:
  explicit OrphanVisit(Heap* visitor) : visitor_(visitor) {}

  // Puts the slab that it gave before back and gives the next, which is in no list; nullptr at the
  // end, which must be reached.
  Span* next();

 private:
  Span* find();
  bool has_visited(const Span* slab) const;

  Heap* visitor_;
  Span* held_ = nullptr;
  unsigned bin_ = 0;
  std::uint16_t number_ = 0;  // 0: not begun
};

// Moves all slabs of a heap whose thread is ending to the orphans and releases the empty ones.
void abandon_slabs(Heap* heap);

// Frees what was sent to a heap without a thread, the orphan heap or an idle one. The caller holds
// orphans_lock.
void receive_for_idle(Heap* heap);

// Takes in what was sent to the orphans.
void tidy_orphans();

}  // namespace corbel::alloc
