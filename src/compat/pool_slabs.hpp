// SPDX-License-Identifier: Apache-2.0
// The slabs of a pool, by size class. The caller holds the pool's lock.
#pragma once

#include <cstddef>
#include <new>

#include "compat/pool_span.hpp"

namespace corbel::compat {

// A chain of free blocks of one class.
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
  // Moves up to `limit` blocks of class `c` to `list`. False when the slabs have none left.
  bool take(unsigned c, unsigned limit, BlockList& list);

  // Makes a new slab of class `c` of the span, which take() will use.
  void add(Span* span, unsigned c);

  // Gives a block back to its slab. Returns the slab when it is empty and no longer wanted: the
  // caller releases its span.
  Slab* give(Slab* slab, void* block);

  // Takes an empty slab of any class out; nullptr when there is none.
  Slab* take_empty();

  // Forgets all slabs.
  void clear();

 private:
  struct Class {
    Span* partial = nullptr;  // slabs with blocks to take
    Slab* empty = nullptr;    // one that is empty, so that the next take need not make one
  };

  static bool exhausted(const Slab& slab);
  static void link(Class& cls, Slab* slab);
  static void unlink(Class& cls, Slab* slab);
  static void* take_one(Slab& slab);

  Class classes_[kPoolClasses];
};

}  // namespace corbel::compat
