// SPDX-License-Identifier: Apache-2.0
// Slabs that outlive their thread.
//
// They belong to the orphan heap, an ordinary heap whose owner is the thread that holds
// orphans_lock. A thread that needs a slab adopts an orphan of the right size class before it asks
// for a new slab. A thread that frees blocks of orphans takes the lock and returns them to their
// slabs itself.
#pragma once

#include "alloc/heap/heap.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

extern sync::Lock orphans_lock;

// Moves a slab of this class that has blocks to give from the orphan heap to `heap`, and returns
// it; it is in no list. nullptr if there is none.
Span* adopt_slab(Heap* heap, unsigned size_class);

// Whether there is a slab to adopt. Takes no lock, so the answer may be out of date.
bool have_orphans();

// A walk over the orphans that have blocks to give. While the caller works on a slab, the slab
// belongs to `visitor`, the heap of the calling thread, and no lock is held. If another thread
// frees a block of that slab meanwhile, it sends the block to the visitor's inbox. Once the slab is
// an orphan again, the visitor sends such blocks on to the orphan heap. A slab is skipped if the
// number of its used blocks is the same as at its last visit.
//
// If another thread forks during a visit, the visited slab is lost in the child, like every slab of
// a thread that the child does not have.
class OrphanVisit {
 public:
  explicit OrphanVisit(Heap* visitor) : visitor_(visitor) {}

  // Returns the slab of the previous call to the orphan heap and takes the next one, which is in no
  // list. nullptr at the end. The caller must continue up to the end.
  Span* next();

 private:
  Span* find();
  bool has_visited(const Span* slab) const;

  Heap* visitor_;
  Span* held_ = nullptr;
  unsigned bin_ = 0;
  std::uint16_t number_ = 0;  // of this visit; 0: not begun
};

// Moves all slabs in the lists of a heap to the orphans.
void make_orphans(Heap* heap);

// Updates the flags that adopt_slab() and have_orphans() read without the lock. The caller holds
// orphans_lock.
void publish_adoptable();

}  // namespace corbel::alloc
