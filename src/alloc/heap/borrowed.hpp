// SPDX-License-Identifier: Apache-2.0
// Borrowed blocks: remote frees that the thread keeps for its own next mallocs.
//
// Where threads exchange blocks at random, a thread frees as many blocks of a size class as it
// allocates, but nearly all of them belong to others. If it sent each of them to its owner, every
// block would travel twice, through two cold caches, and what is sent to a thread that waits for a
// processor would serve no thread. So a bin may keep some remote frees, and malloc takes them
// before blocks of its own slabs, the last one first, because it is still in the processor's cache.
// To the owner of its slab, a borrowed block is used. (A thread's cache in tcmalloc keeps every
// block that it frees. Here most blocks do go home, so that threads do not share cache lines and
// slabs become empty.)
//
// A bin begins to borrow when the thread exchanges blocks, which begin_borrowing() decides, and
// goes on until the next send_all(). A thread that never allocates the class, the consumer of a
// queue, keeps nothing. Nor does a thread that replaces what another one has left to it: it would
// work on that one's cache lines until it ends.
//
// A borrowed block holds its depth, the number of blocks on the list from it to the end. So the
// length of the list is known, although malloc does not count what it pops.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloc/heap/heap.hpp"
#include "alloc/map/die.hpp"

namespace corbel::alloc {

// Bounds what a thread that is not running holds back: for each bin, and for the whole heap.
inline constexpr std::uint32_t kMaxBorrowed = 64;
inline constexpr std::uint32_t kMaxBorrowedBytesOfBin = 16 * 1024;
inline constexpr std::uint32_t kMaxBorrowedBytes = 256 * 1024;

// Smaller blocks share cache lines with blocks of other threads, so they always go home.
inline constexpr std::uint32_t kMinBorrowedSize = kCacheLine;

// A bin that has sent less than this (KiB) does not borrow.
inline constexpr std::uint32_t kMinSentKib = 16;

struct BorrowedBlock : Block {
  std::size_t depth;
};
static_assert(kMinBorrowedSize >= sizeof(BorrowedBlock));

inline std::size_t depth_of(const Block* block) {
  return static_cast<const BorrowedBlock*>(block)->depth;
}

// The number of blocks that the bin has borrowed.
inline std::size_t borrowed_count(const Bin& bin) {
  return bin.list_is_borrowed && bin.list != nullptr ? depth_of(bin.list) : 0;
}

// Keeps a block of another thread's slab. Returns false, and only counts the block, if the bin has
// borrowed as many as it may.
inline bool borrow(Bin& bin, void* p) {
  const std::size_t count = borrowed_count(bin);
  if (count >= bin.borrow_capacity) {
    ++bin.sent;
    return false;
  }
  if (!bin.list_is_borrowed) {
    bin.own = bin.list;
    bin.list = nullptr;
    bin.list_is_borrowed = true;
  }
  if (bin.list == p) [[unlikely]]
    die("free", "the block was freed twice", p);
  auto* const block = static_cast<BorrowedBlock*>(p);
  block->next = bin.list;
  block->depth = count + 1;
  bin.list = block;
  return true;
}

// Makes the list that the borrowed blocks displaced the bin's list again; it may be empty.
// Requires: there are no borrowed blocks on the bin's list, or the caller has taken them.
inline void restore_own_list(Bin* bin) {
  bin->list = bin->own;
  bin->own = nullptr;
  bin->list_is_borrowed = false;
}

// To be called before the bin's list is found to be empty: if it is the borrowed one, the bin's own
// list takes its place.
inline void leave_empty_borrowed_list(Bin* bin) {
  if (bin->list == nullptr && bin->list_is_borrowed) restore_own_list(bin);
}

// To be called when the bin has run out of blocks: lets it borrow if the thread has sent away more
// blocks of the class than it may have been left by others. While it gets by with the memory that
// it has, that means twice as much. If it is about to commit more, although it sends blocks away, a
// small amount suffices.
inline void begin_borrowing(Heap* heap, Bin* bin, bool commits) {
  if (bin->sent == 0 || bin->borrow_capacity != 0) return;
  const std::uint32_t size = kSizeClasses[heap->class_of_bin(*bin)].block_size;
  if (size < kMinBorrowedSize) return;
  const std::uint32_t enough = kMinSentKib + (commits ? 0 : 2 * bin->committed_kib);
  if (std::uint64_t(bin->sent) * size / 1024 < enough) return;
  const std::uint32_t room =
      std::min(kMaxBorrowedBytesOfBin, kMaxBorrowedBytes - heap->borrow_capacity_bytes);
  bin->borrow_capacity = std::min(kMaxBorrowed, room / size);
  heap->borrow_capacity_bytes += bin->borrow_capacity * size;
}

}  // namespace corbel::alloc
