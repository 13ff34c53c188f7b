// SPDX-License-Identifier: Apache-2.0
#include "alloc/sample/sampled_slabs.hpp"

#include "alloc/heap/heap.hpp"
#include "alloc/heap/slab.hpp"

namespace corbel::alloc {

namespace {

// Those of each class that have blocks to give. Under samples_lock.
constinit SlabList sampled_slabs[kClasses]{};

Block* take_first(Span* slab) {
  std::size_t shortage = 0;
  if (slab->blocks.freed == nullptr) {
    Block* rest = nullptr;
    bool zeroed = false;
    const std::uint32_t used = slab->blocks.used.get();
    Block* const block = ready_blocks(slab, 0, &rest, &zeroed, &shortage);
    if (block == nullptr) return nullptr;
    slab->blocks.freed = rest;
    slab->blocks.used.set(used + 1);
    return block;
  }
  Block* const block = slab->blocks.freed;
  slab->blocks.freed = block->next;
  slab->blocks.used.add(1);
  return block;
}

// The empty slabs that are kept for the next sample of their class: one of each class, as long as
// all together hold little memory. To make and release a slab takes as long as the rest of a sample
// without its call stack. Under samples_lock.
constexpr std::size_t kMaxKept = std::size_t(1) << 20;
constinit std::size_t kept = 0;

bool keep_empty(const SlabList& slabs, const Span* slab) {
  if (slabs.first != slab || slabs.last != slab || slab->committed > kMaxKept - kept) return false;
  kept += slab->committed;
  return true;
}

}  // namespace

void* take_from_sampled_slab(unsigned size_class) {
  SlabList& slabs = sampled_slabs[size_class];
  Span* slab = slabs.first;
  if (slab == nullptr) {
    std::size_t shortage = 0;
    slab = new_slab(size_class, span_tag::kSampled, true, &shortage);
    if (slab == nullptr) return nullptr;
    slabs.push_back(slab);
  } else if (slab->blocks.used.get() == 0 && slab->blocks.carved.get() != 0) {
    kept -= slab->committed;  // It was kept, so it has freed blocks.
  }
  Block* const block = take_first(slab);
  if (!has_blocks_to_give(slab)) slabs.remove(slab);
  return block;
}

bool put_into_sampled_slab(Span* slab, void* p) {
  SlabList& slabs = sampled_slabs[slab->size_class];
  if (!has_blocks_to_give(slab)) slabs.push_back(slab);
  Block* const block = static_cast<Block*>(p);
  block->next = slab->blocks.freed;
  slab->blocks.freed = block;
  if (slab->blocks.used.decrement() != 0 || keep_empty(slabs, slab)) return false;
  slabs.remove(slab);
  return release_slab(slab);
}

}  // namespace corbel::alloc
