// SPDX-License-Identifier: Apache-2.0
#include "compat/pool_slabs.hpp"

namespace corbel::compat {

namespace {

// Where a block may lie at or after `place`: not where a large block would.
std::uintptr_t next_place(std::uintptr_t place, const Slab& slab) {
  const std::size_t page = slab.bytes / 4;
  return (place & (page - 1)) == 0 ? place + kPoolClassSizes[slab.size_class] : place;
}

}  // namespace

bool PoolSlabs::exhausted(const Slab& slab) {
  if (slab.free != nullptr) return false;
  const std::size_t size = kPoolClassSizes[slab.size_class];
  return next_place(slab.fresh, slab) + size > slab.address() + slab.bytes;
}

void PoolSlabs::link(Class& cls, Slab* slab) {
  slab->previous = nullptr;
  slab->next = cls.partial;
  if (slab->next != nullptr) slab->next->previous = slab;
  cls.partial = slab;
}

void PoolSlabs::unlink(Class& cls, Slab* slab) {
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    cls.partial = slab->next;
  }
}

void* PoolSlabs::take_one(Slab& slab) {
  ++slab.live;
  if (slab.free != nullptr) {
    FreeBlock* block = slab.free;
    slab.free = block->next;
    return block;
  }
  const std::uintptr_t place = next_place(slab.fresh, slab);
  slab.fresh = place + kPoolClassSizes[slab.size_class];
  return pointer_to(place);
}

bool PoolSlabs::take(unsigned c, unsigned limit, BlockList& list) {
  Class& cls = classes_[c];
  for (unsigned taken = 0; taken < limit; ++taken) {
    if (cls.partial == nullptr) {
      if (cls.empty == nullptr) return taken != 0;
      link(cls, cls.empty);
      cls.empty = nullptr;
    }
    Slab* slab = static_cast<Slab*>(cls.partial);
    list.push(take_one(*slab));
    if (exhausted(*slab)) unlink(cls, slab);
  }
  return true;
}

void PoolSlabs::add(Span* span, unsigned c) {
  span->state = Span::kSlab;
  span->size_class = c;
  Slab* slab = static_cast<Slab*>(span);
  slab->free = nullptr;
  slab->fresh = first_block(*slab);
  slab->live = 0;
  link(classes_[c], slab);
}

Slab* PoolSlabs::give(Slab* slab, void* block) {
  Class& cls = classes_[slab->size_class];
  if (exhausted(*slab)) link(cls, slab);
  slab->free = ::new (block) FreeBlock{slab->free};
  if (--slab->live != 0) return nullptr;
  unlink(cls, slab);
  if (cls.empty != nullptr) return slab;
  cls.empty = slab;
  return nullptr;
}

Slab* PoolSlabs::take_empty() {
  for (Class& cls : classes_) {
    if (cls.empty == nullptr) continue;
    Slab* slab = cls.empty;
    cls.empty = nullptr;
    return slab;
  }
  return nullptr;
}

void PoolSlabs::clear() {
  for (Class& cls : classes_) cls = Class();
}

}  // namespace corbel::compat
