// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/heap.hpp"

#include "alloc/heap/slab.hpp"

namespace corbel::alloc {

constinit Heap unset_heap{};
constinit Heap orphan_heap{.inbox = sync::Inbox(sync::Inbox::kShared)};
CORBEL_DECLARED_THREAD_VARIABLE(Heap*, this_heap) = &unset_heap;

void SlabList::push_back(Span* slab) {
  slab->prev = last;
  slab->next = nullptr;
  (last != nullptr ? last->next : first) = slab;
  last = slab;
}

void SlabList::remove(Span* slab) {
  (slab->prev != nullptr ? slab->prev->next : first) = slab->next;
  (slab->next != nullptr ? slab->next->prev : last) = slab->prev;
}

void Heap::add_slab(Span* slab) {
  Bin& bin = bins[slab->size_class];
  const bool gives = has_blocks_to_give(slab);
  slab->set_tag(gives ? tag() : tag() | span_tag::kFull);
  (gives ? bin.available : bin.full).push_back(slab);
}

}  // namespace corbel::alloc
