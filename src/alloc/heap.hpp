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

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace corbel::alloc {

// Slabs of one class, linked through Span::next and Span::prev.
struct SlabList {
  Span* first;
  Span* last;

  void push_back(Span* slab);
  void remove(Span* slab);
};

struct Bin {
  static constexpr std::uintptr_t kNoUnit = ~std::uintptr_t(0);  // no address has it

  // Free blocks for the next mallocs; all from `current`.
  Block* list;
  // The unit that the blocks on the list lie in, or kNoUnit where `current` has several or is none:
  // for a free that knows the bin. Set with `current`, by set_current().
  std::uintptr_t unit = kNoUnit;
  // The slab that the bin takes from; it is in neither of the lists below.
  Span* current;
  // Slabs with something to give: freed != nullptr, purged.blocks != 0 or carved < capacity. First
  // in, first out, so that a slab gathers frees before its turn comes.
  SlabList available;
  // Slabs with nothing to give, tag kFull.
  SlabList full;
  // The KiB of pages that were entered for the bin's slabs, roughly: those of adopted slabs are
  // missing.
  std::uint32_t entered_kib;
  // Of blocks by put_back_sized(), which may leave everything else as it was before their mallocs.
  std::uint32_t put_backs;

  void set_current(Span* slab) {
    current = slab;
    unit = slab != nullptr && slab->units == 1 ? slab->unit : kNoUnit;
  }
};

// Free blocks of one slab, linked from the first to the last.
struct Run {
  Span* slab;
  Block* first;
  Block* last;
  std::uint32_t count;

  static Run of_one(Span* slab, void* block) {
    return {slab, static_cast<Block*>(block), static_cast<Block*>(block), 1};
  }
};

// Blocks that this thread has freed and others own, until they are sent (remote.hpp).
struct Outbox {
  static constexpr std::uint32_t kRuns = 64;
  static constexpr std::uint32_t kMaxBlocks = 512;
  // A thread that falls asleep must not sit on much.
  static constexpr std::uint32_t kMaxBytes = 64 * 1024;
  static constexpr std::uint32_t kPlaces = 64;

  Run* latest;  // the run of the last block; nullptr: there is none
  std::uint32_t run_count;
  // Of the blocks, smaller ones counted as kMaxBytes / kMaxBlocks; kMaxBytes at least once there
  // are kRuns.
  std::uint32_t bytes;
  Run runs[kRuns];
  // Where the run of a slab may be, by the slab's unit.
  std::uint8_t place[kPlaces];
};

struct alignas(kCacheLine) Heap {
  Bin bins[kClasses]{};

  // Of the slabs with used == 0 among `available`, and of `current` slabs of several units.
  std::uint32_t empty_units = 0;
  std::uint32_t refills = 0;
  std::uint32_t flush_seen = 0;  // of the requests in reclaim.cpp
  // How many slow paths the thread is in. While it is in one, it keeps its heap (sleepers.hpp).
  sync::OwnerCounter slow_paths{};
  Heap* next_idle = nullptr;
  Heap* next = nullptr;  // every heap ever made; written once

  // These under sleepers_lock. Where the owner's this_heap is, which others may only touch
  // while it is set here: nullptr if the heap may not be taken over.
  Heap** place = nullptr;
  std::uint32_t thread = 0;  // os::thread_id() of the owner
  std::uint64_t seen = 0;    // what the heap looked like when somebody last looked
  // How long the helper thread leaves the heap alone because it could not be taken over.
  std::uint8_t patience = 0;
  std::uint8_t rounds_to_wait = 0;

  // Written by other threads: on a line of its own (remote.hpp).
  alignas(kCacheLine) sync::Inbox inbox{};

  alignas(kCacheLine) Outbox outbox{};

  std::uintptr_t tag() const { return reinterpret_cast<std::uintptr_t>(this); }
  unsigned class_of_bin(const Bin& bin) const { return unsigned(&bin - bins); }
};

// How far the bin for a request of each size up to kSmallMax lies from the beginning of a heap: one
// look-up for malloc, in a table that all threads share.
struct BinOffsets {
  std::uint16_t of[kSmallMax + 1];
};
inline constexpr BinOffsets kBinOffsets = [] {
  BinOffsets offsets{};
  for (std::size_t size = 0; size <= kSmallMax; ++size) {
    offsets.of[size] = std::uint16_t(offsetof(Heap, bins) + class_of(size) * sizeof(Bin));
  }
  return offsets;
}();

inline Bin* small_bin(Heap* heap, std::size_t size) {
  return reinterpret_cast<Bin*>(reinterpret_cast<char*>(heap) + kBinOffsets.of[size]);
}

// What tags say about the owner of a slab.
inline Heap* owner_of(std::uintptr_t slab_tag) {
  return reinterpret_cast<Heap*>(slab_tag & ~span_tag::kFull);
}

// The heap of a thread that has none yet, or none any more: all its bins are empty for ever, so
// that the first malloc takes the slow path.
extern CORBEL_PRIVATE_API Heap unset_heap;

// Another thread may set it to &unset_heap while this one sleeps in a system call (sleepers.hpp).
extern CORBEL_PRIVATE_API thread_local constinit Heap* this_heap
    __attribute__((tls_model("initial-exec")));

// this_heap, read by its thread. What orders the two threads is the kernel, of which the thread
// sanitizer knows nothing: for it this is an atomic, and note_use() an edge.
inline Heap* heap_of_thread() {
#if defined(__SANITIZE_THREAD__)
  return __atomic_load_n(&this_heap, __ATOMIC_RELAXED);
#else
  return this_heap;
#endif
}

// The calling thread has used its heap and goes back to the program.
inline void note_use([[maybe_unused]] Heap* heap) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(heap);
#endif
}

// The calling thread has found that the owner sleeps.
inline void note_taken([[maybe_unused]] Heap* heap) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(heap);
#endif
}

// Held by every function that keeps hold of the thread's heap while it may call the system, wait
// for a lock, or run code of the program.
class SlowPath {
 public:
  // nullptr: the thread has no heap.
  explicit SlowPath(Heap* heap) : heap_(heap) {
    if (heap_ != nullptr) heap_->slow_paths.add(1);
  }
  ~SlowPath() {
    if (heap_ == nullptr) return;
    heap_->slow_paths.decrement();
    note_use(heap_);
  }
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

 private:
  Heap* heap_;
};

}  // namespace corbel::alloc
