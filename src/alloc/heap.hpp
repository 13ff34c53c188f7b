// SPDX-License-Identifier: Apache-2.0
// A thread's heap: what malloc and free touch when they need nobody else.
//
// Each size class has a bin. malloc pops from the bin's list; free pushes onto the list of the
// slab that the block lies in. Because the two are different lists, a malloc never waits for the
// look-up of the free before it. When the bin's list is empty it takes over the whole list of a
// slab (refill() in slab.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/span.hpp"
#include "base/bits.hpp"
#include "sync/inbox.hpp"

namespace corbel::alloc {

// Slabs of one class, linked through Span::next and Span::prev.
struct SlabList {
  Span* first;
  Span* last;

  void push_back(Span* slab);
  void remove(Span* slab);
};

struct Bin {
  // Free blocks for the next mallocs; all from `current`.
  Block* list;
  // The slab that the bin takes from; it is in neither of the lists below.
  Span* current;
  // Slabs with something to give: freed != nullptr, purged.blocks != 0 or carved < capacity. First
  // in, first out, so that a slab gathers frees before its turn comes.
  SlabList available;
  // Slabs with nothing to give, tag kFull.
  SlabList full;
};

// Blocks that this thread has freed and others own, until they are sent (remote.hpp).
struct Outbox {
  static constexpr std::uint32_t kCapacity = 126;
  // A thread that falls asleep must not sit on much.
  static constexpr std::uint32_t kMaxBytes = 64 * 1024;

  std::uint32_t count;
  std::uint32_t bytes;
  void* blocks[kCapacity];
};

struct alignas(kCacheLine) Heap {
  // The bin for a request of (8 * i - 7) to 8 * i bytes.
  static constexpr std::size_t kDirect = kSmallMax / 8 + 1;
  Bin* direct[kDirect]{};
  Bin bins[kClasses]{};

  // Of the slabs with used == 0 among `available`, and of `current` slabs of several units.
  std::uint32_t empty_units = 0;
  std::uint32_t refills = 0;
  std::uint32_t flush_seen = 0;  // of the requests in reclaim.cpp
  Heap* next_idle = nullptr;
  Heap* next = nullptr;  // every heap ever made; written once

  // Written by other threads: on a line of its own (remote.hpp).
  alignas(kCacheLine) sync::Inbox inbox{};

  alignas(kCacheLine) Outbox outbox{};

  std::uintptr_t tag() const { return reinterpret_cast<std::uintptr_t>(this); }
  unsigned class_of_bin(const Bin& bin) const { return unsigned(&bin - bins); }
};

// What tags say about the owner of a slab.
inline Heap* owner_of(std::uintptr_t slab_tag) {
  return reinterpret_cast<Heap*>(slab_tag & ~span_tag::kFull);
}

// The heap of a thread that has none yet, or none any more: all its bins are empty for ever, so
// that the first malloc takes the slow path.
extern CORBEL_PRIVATE_API Heap unset_heap;

extern CORBEL_PRIVATE_API thread_local constinit Heap* this_heap
    __attribute__((tls_model("initial-exec")));

}  // namespace corbel::alloc
