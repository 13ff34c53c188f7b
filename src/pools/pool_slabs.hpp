// SPDX-License-Identifier: Apache-2.0
// The slabs of a pool, by size class. Every function requires that the caller holds the pool's
// lock.
#pragma once

#include <cstddef>
#include <new>

#include "pools/pool_span.hpp"

namespace corbel::pools {

// A list of free blocks of one size class.
struct BlockList {
  FreeBlock* head = nullptr;
  unsigned count = 0;

  void push(void* block) {
    head = ::new (block) FreeBlock{head};
    ++count;
  }
  void* pop() {
    FreeBlock* block = head;
    head = block->next;
    --count;
    return block;
  }
};

class PoolSlabs {
 public:
  // Moves up to `limit` free blocks of class `c` to `list`. Returns false when there are none.
  bool take(unsigned c, unsigned limit, BlockList& list);

  // Makes the span a slab of class `c`, from which take() may take blocks.
  void add(PoolSpan* span, unsigned c);

  // Gives a block back to its slab. Returns the slab if it is empty now and not kept: the caller
  // must release its span.
  PoolSlab* give(PoolSlab* slab, void* block);

  // Removes an empty slab of any class and returns it; nullptr when there is none.
  PoolSlab* take_empty();

  // Forgets all slabs.
  void clear();

 private:
  struct Class {
    PoolSpan* partial = nullptr;  // slabs with free blocks
    PoolSlab* empty = nullptr;    // one empty slab, kept for the next take()
  };

  static bool exhausted(const PoolSlab& slab);
  static void link(Class& cls, PoolSlab* slab);
  static void unlink(Class& cls, PoolSlab* slab);
  static void* take_one(PoolSlab& slab);

  Class classes_[kPoolClasses];
};

}  // namespace corbel::pools
