// SPDX-License-Identifier: Apache-2.0
#include "pools/pool_slabs.hpp"

namespace corbel::pools {

namespace {

// The first address at or after `address` where a block may begin. A block must not begin at a
// multiple of the page, because such an address marks a large block.
std::uintptr_t next_block_address(std::uintptr_t address, const PoolSlab& slab) {
  const std::size_t page = slab.bytes / 4;
  return (address & (page - 1)) == 0 ? address + kPoolClassSizes[slab.size_class] : address;
}

}  // namespace

bool PoolSlabs::exhausted(const PoolSlab& slab) {
  if (slab.free != nullptr) return false;
  const std::size_t size = kPoolClassSizes[slab.size_class];
  return next_block_address(slab.fresh, slab) + size > slab.address() + slab.bytes;
}

void PoolSlabs::link(Class& cls, PoolSlab* slab) {
  slab->previous = nullptr;
  slab->next = cls.partial;
  if (slab->next != nullptr) slab->next->previous = slab;
  cls.partial = slab;
}

void PoolSlabs::unlink(Class& cls, PoolSlab* slab) {
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    cls.partial = slab->next;
  }
}

void* PoolSlabs::take_one(PoolSlab& slab) {
  ++slab.live;
  if (slab.free != nullptr) {
    FreeBlock* block = slab.free;
    slab.free = block->next;
    return block;
  }
  const std::uintptr_t address = next_block_address(slab.fresh, slab);
  slab.fresh = address + kPoolClassSizes[slab.size_class];
  return pointer_to(address);
}

bool PoolSlabs::take(unsigned c, unsigned limit, BlockList& list) {
  Class& cls = classes_[c];
  for (unsigned taken = 0; taken < limit; ++taken) {
    if (cls.partial == nullptr) {
      if (cls.empty == nullptr) return taken != 0;
      link(cls, cls.empty);
      cls.empty = nullptr;
    }
    PoolSlab* slab = static_cast<PoolSlab*>(cls.partial);
    list.push(take_one(*slab));
    if (exhausted(*slab)) unlink(cls, slab);
  }
  return true;
}

void PoolSlabs::add(PoolSpan* span, unsigned c) {
  span->state = PoolSpan::kSlab;
  span->size_class = c;
  PoolSlab* slab = static_cast<PoolSlab*>(span);
  slab->free = nullptr;
  slab->fresh = first_block(*slab);
  slab->live = 0;
  link(classes_[c], slab);
}

PoolSlab* PoolSlabs::give(PoolSlab* slab, void* block) {
  Class& cls = classes_[slab->size_class];
  if (exhausted(*slab)) link(cls, slab);
  slab->free = ::new (block) FreeBlock{slab->free};
  if (--slab->live != 0) return nullptr;
  unlink(cls, slab);
  if (cls.empty != nullptr) return slab;
  cls.empty = slab;
  return nullptr;
}

PoolSlab* PoolSlabs::take_empty() {
  for (Class& cls : classes_) {
    if (cls.empty == nullptr) continue;
    PoolSlab* slab = cls.empty;
    cls.empty = nullptr;
    return slab;
  }
  return nullptr;
}

void PoolSlabs::clear() {
  for (Class& cls : classes_) cls = Class();
}

}  // namespace corbel::pools
