// SPDX-License-Identifier: Apache-2.0
// A thread's heap: what malloc and free touch on their fast paths.
//
// Each size class has a bin. malloc pops from the bin's free list; free pushes onto the free list
// of the slab that the block lies in. (Blocks that the thread borrows are the exception, see
// borrowed.hpp.) Because the two lists differ, a malloc does not depend on the
// page-map look-up of the free before it. A bin whose list is empty takes over the whole free list
// of a slab (refill() in bin.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/map/private_api.hpp"
#include "alloc/map/span.hpp"
#include "base/bits.hpp"
#include "base/thread_sanitizer.hpp"
#include "base/thread_variable.hpp"
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
  // The free list: blocks for the next mallocs, all of them from `current` or all borrowed.
  Block* list;
  // The current slab. It is in neither of the lists below.
  Span* current;
  // Slabs with blocks to give (has_blocks_to_give() in slab.hpp). First in, first out, so that a
  // slab collects frees before its turn comes.
  SlabList available;
  // Slabs with no block to give; their tag has kFull.
  SlabList full;
  // The approximate KiB committed for the bin's slabs; those of adopted slabs are not included.
  std::uint32_t committed_kib;
  // See borrowed.hpp for what follows.
  bool list_is_borrowed;
  Block* own;                     // the rest of the list that the borrowed blocks displaced
  std::uint32_t borrow_capacity;  // blocks; 0: the bin does not borrow
  std::uint32_t sent;             // blocks that went to the outbox since the last send_all()
};

// Free blocks of one slab that are sent or freed together, linked from the first to the last.
struct Batch {
  Span* slab;
  Block* first;
  Block* last;
  std::uint32_t count;

  static Batch of_one(Span* slab, void* block) {
    return {slab, static_cast<Block*>(block), static_cast<Block*>(block), 1};
  }
};

// The remote frees of this thread that it has not sent yet (remote.hpp).
struct Outbox {
  static constexpr std::uint32_t kBatches = 64;
  static constexpr std::uint32_t kMaxBlocks = 512;
  // Limits what a thread that falls asleep holds back from the owners, beside what it borrows.
  static constexpr std::uint32_t kMaxBytes = 64 * 1024;
  static constexpr std::uint32_t kSlots = 64;

  Batch* latest;  // the batch that the last block was added to; nullptr: the outbox is empty
  std::uint32_t batch_count;
  // The total size of the blocks, where a block counts at least kMaxBytes / kMaxBlocks. kMaxBytes
  // or more means that the outbox is full; it is set to kMaxBytes when all kBatches are in use.
  std::uint32_t bytes;
  Batch batches[kBatches];
  // A hash table by the slab's unit: the index in `batches` of the slab's batch, if it has one. An
  // entry may be stale or belong to another slab.
  std::uint8_t slot[kSlots];
};

struct alignas(kCacheLine) Heap {
  Bin bins[kClasses]{};

  // Units of the slabs that count as empty (counts_as_empty() in bin.hpp).
  std::uint32_t empty_units = 0;
  std::uint32_t refills = 0;     // and borrowed blocks
  std::uint32_t flush_seen = 0;  // the number of the last flush request the thread honoured
  std::uint32_t borrow_capacity_bytes = 0;  // the sum of all bins (borrowed.hpp)
  // How many slow paths the thread is in. While it is in one, no other thread takes its heap over
  // (idle_heaps.hpp).
  sync::OwnerCounter slow_paths{};
  Heap* next_spare = nullptr;         // in a list of heaps without a thread
  std::uint64_t rests_since = 0;      // os::now_ms() (registry.hpp)
  Heap* next = nullptr;               // every heap ever made; written once
  struct Sampler* sampler = nullptr;  // nullptr: the process has never sampled (sampling.hpp)

  // The next five are under heap_owners_lock.
  //
  // The address of the owner's this_heap; nullptr if the heap may not be taken over. Other threads
  // may access that variable only while its address is set here.
  Heap** owner_slot = nullptr;
  std::uint32_t thread = 0;       // os::thread_id() of the owner
  std::uint64_t fingerprint = 0;  // of the heap when it was last checked (idle_heaps.cpp)
  // The helper thread skips a heap that it could not take over for this many rounds: `patience` is
  // the last such number, `rounds_to_wait` is what is left of it.
  std::uint8_t patience = 0;
  std::uint8_t rounds_to_wait = 0;

  // Written by other threads, so on a cache line of its own (remote.hpp).
  alignas(kCacheLine) sync::Inbox inbox{};

  alignas(kCacheLine) Outbox outbox{};

  std::uintptr_t tag() const { return reinterpret_cast<std::uintptr_t>(this); }
  unsigned class_of_bin(const Bin& bin) const { return unsigned(&bin - bins); }

  // Adds a slab that is in no list, and sets its tag.
  void add_slab(Span* slab);
};

// For each request size up to kSmallMax, the offset of the bin in a heap: malloc finds its bin by
// one look-up in a table that all threads share.
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

// The owner of a slab, according to its tag.
inline Heap* owner_of(std::uintptr_t slab_tag) {
  return reinterpret_cast<Heap*>(slab_tag & ~span_tag::kFull);
}

// this_heap points to it in a thread that has no heap yet, or no longer has one. All its bins stay
// empty, so that the next malloc takes the slow path.
extern CORBEL_PRIVATE_API Heap unset_heap;

// The heap of the slabs whose heap was taken apart (orphans.hpp).
extern Heap orphan_heap;

// Another thread may set it to &unset_heap while this one sleeps in a system call (idle_heaps.hpp).
CORBEL_PRIVATE_API CORBEL_EXTERN_THREAD_VARIABLE(Heap*, this_heap);

// this_heap, read by its own thread. When another thread has written it, the kernel orders the two
// (idle_heaps.hpp). The thread sanitizer cannot know that. For the sanitizer only, this load is
// atomic, and note_use() and note_taken() form a synchronisation edge.
inline Heap* heap_of_thread() {
#if defined(__SANITIZE_THREAD__)
  return __atomic_load_n(&this_heap, __ATOMIC_RELAXED);
#else
  return CORBEL_READ_THREAD_VARIABLE(this_heap);
#endif
}

// Writes a thread's this_heap, whose address is `slot`. relaxed: if another thread than the reader
// writes it, the kernel orders the two (idle_heaps.hpp)
inline void set_this_heap(Heap** slot, Heap* heap) {
  __atomic_store_n(slot, heap, __ATOMIC_RELAXED);
}

// For the thread sanitizer: the calling thread has used its heap and returns to the program.
inline void note_use(Heap* heap) { tsan_release(heap); }

// For the thread sanitizer: the calling thread has taken the heap over from a sleeping owner.
inline void note_taken(Heap* heap) { tsan_acquire(heap); }

// While this exists, no other thread takes the heap over. Needed by every function that uses the
// thread's heap and, before it is done, may call the system, wait for a lock or call the program.
class SlowPath {
 public:
  // `heap` is nullptr if the thread has no heap.
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
