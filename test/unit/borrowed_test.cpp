// SPDX-License-Identifier: Apache-2.0
// Borrowed blocks: which threads keep remote frees for themselves, and that these go home in the
// end.
#include "alloc/heap/borrowed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "alloc/heap/allocate.hpp"
#include "alloc/heap/deallocate.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/map/page_map.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kSize = 256;
constexpr std::size_t kMany = 2000;  // 500 KiB

Bin& own_bin(std::size_t size = kSize) { return this_heap->bins[class_of(size)]; }

std::vector<void*> make_blocks(std::size_t count, std::size_t size = kSize) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = std::memset(allocate(size), 1, size);
  return blocks;
}

void free_blocks(std::vector<void*>& blocks) {
  for (void* block : blocks) deallocate(block);
  blocks.clear();
}

// Replaces each block, which belongs to another thread, by a new one.
void replace(std::vector<void*>& blocks, std::size_t size = kSize) {
  for (void*& block : blocks) {
    deallocate(block);
    block = std::memset(allocate(size), 2, size);
  }
}

TEST(BorrowedTest, AThreadThatExchangesBlocksGetsTheLastOneBack) {
  std::vector<void*> blocks = make_blocks(kMany);
  void* const extra = allocate(kSize);
  std::thread([&] {
    replace(blocks);
    EXPECT_EQ(own_bin().borrow_capacity, kMaxBorrowed);
    deallocate(extra);
    EXPECT_EQ(borrowed_count(own_bin()), 1U);
    EXPECT_EQ(allocate(kSize), extra);
    EXPECT_EQ(borrowed_count(own_bin()), 0U);
  }).join();
  deallocate(extra);
  free_blocks(blocks);
}

TEST(BorrowedTest, ABinBorrowsUpToItsCapacity) {
  std::vector<void*> blocks = make_blocks(kMany);
  std::vector<void*> more = make_blocks(kMaxBorrowed * 2);
  const std::set<void*> foreign(more.begin(), more.end());
  std::thread([&] {
    replace(blocks);
    free_blocks(more);
    EXPECT_EQ(borrowed_count(own_bin()), kMaxBorrowed);
    std::set<void*> again;
    for (std::size_t i = 0; i < kMaxBorrowed; ++i) {
      more.push_back(allocate(kSize));
      EXPECT_EQ(foreign.count(more.back()), 1U);
      EXPECT_TRUE(again.insert(more.back()).second) << "a block was given out twice";
    }
    more.push_back(allocate(kSize));
    EXPECT_EQ(foreign.count(more.back()), 0U) << "the bin's own list comes next";
  }).join();
  free_blocks(more);
  free_blocks(blocks);
}

TEST(BorrowedTest, AThreadThatOnlyFreesBorrowsNothing) {
  std::vector<void*> blocks = make_blocks(kMany);
  std::thread([&] {
    deallocate(allocate(kSize));
    free_blocks(blocks);
    EXPECT_EQ(own_bin().borrow_capacity, 0U);
    EXPECT_EQ(borrowed_count(own_bin()), 0U);
  }).join();
}

TEST(BorrowedTest, AThreadThatReplacesALittleBorrowsNothing) {
  std::vector<void*> blocks = make_blocks(kMinSentKib * 1024 / kSize - 1);
  std::thread([&] {
    replace(blocks);
    replace(blocks);  // its own by now
    EXPECT_EQ(own_bin().borrow_capacity, 0U);
  }).join();
  free_blocks(blocks);
}

TEST(BorrowedTest, BlocksThatShareCacheLinesAreNotBorrowed) {
  constexpr std::size_t kSmall = 48;
  std::vector<void*> blocks = make_blocks(kMany * 8, kSmall);
  std::thread([&] {
    replace(blocks, kSmall);
    EXPECT_GT(own_bin(kSmall).sent, 0U);
    EXPECT_EQ(own_bin(kSmall).borrow_capacity, 0U);
  }).join();
  free_blocks(blocks);
}

TEST(BorrowedTest, AHeapBoundsWhatAllItsBinsBorrow) {
  std::vector<std::vector<void*>> of_class(kClasses);
  for (unsigned i = 0; i < kClasses; ++i) {
    of_class[i] =
        make_blocks(64 * 1024 / kSizeClasses[i].block_size + 4, kSizeClasses[i].block_size);
  }
  std::thread([&] {
    for (unsigned i = 0; i < kClasses; ++i) {
      for (int round = 0; round < 2; ++round) replace(of_class[i], kSizeClasses[i].block_size);
    }
    std::size_t bytes = 0;
    for (unsigned i = 0; i < kClasses; ++i) {
      const std::size_t capacity = this_heap->bins[i].borrow_capacity * kSizeClasses[i].block_size;
      EXPECT_LE(capacity, kMaxBorrowedBytesOfBin);
      bytes += capacity;
    }
    EXPECT_EQ(bytes, this_heap->borrow_capacity_bytes);
    EXPECT_LE(bytes, kMaxBorrowedBytes);
    EXPECT_GT(bytes, kMaxBorrowedBytes / 2);
  }).join();
  for (std::vector<void*>& blocks : of_class) free_blocks(blocks);
}

TEST(BorrowedTest, AFlushSendsBorrowedBlocksHomeAndEndsTheBorrowing) {
  std::vector<void*> blocks = make_blocks(kMany);
  std::vector<void*> more = make_blocks(kMaxBorrowed);
  Span* const slab = slab_head(find_span(more.back()));
  const std::size_t borrowed_slab_blocks = [&] {
    std::size_t count = 0;
    for (const void* block : more) count += slab_head(find_span(block)) == slab ? 1 : 0;
    return count;
  }();
  const std::uint32_t used = slab->blocks.used.get();
  std::thread([&] {
    replace(blocks);
    free_blocks(more);
    ASSERT_EQ(borrowed_count(own_bin()), kMaxBorrowed);
    EXPECT_TRUE(flush_thread(this_heap));
    EXPECT_EQ(borrowed_count(own_bin()), 0U);
    EXPECT_EQ(own_bin().borrow_capacity, 0U);
    EXPECT_EQ(this_heap->borrow_capacity_bytes, 0U);
  }).join();
  EXPECT_EQ(slab->blocks.used.get(), used) << "a borrowed block is used";
  receive(this_heap);
  EXPECT_LE(slab->blocks.used.get() + borrowed_slab_blocks, used);
  free_blocks(blocks);
}

TEST(BorrowedTest, TheOwnListIsKeptWhileBlocksAreBorrowed) {
  std::vector<void*> blocks = make_blocks(kMany);
  void* const extra = allocate(kSize);
  std::thread([&] {
    replace(blocks);
    Bin& bin = own_bin();
    while (bin.list == nullptr || bin.list->next == nullptr) blocks.push_back(allocate(kSize));
    ASSERT_FALSE(bin.list_is_borrowed);
    Block* const own = bin.list;
    deallocate(extra);
    EXPECT_EQ(bin.own, own);
    EXPECT_EQ(allocate(kSize), extra);
    EXPECT_EQ(allocate(kSize), own);
    EXPECT_FALSE(bin.list_is_borrowed);
    blocks.push_back(own);
  }).join();
  deallocate(extra);
  free_blocks(blocks);
}

TEST(BorrowedTest, AThreadThatExchangesOneForOneReceivesWhatOthersFree) {
  std::vector<void*> blocks = make_blocks(kMany);
  void* extra = allocate(kSize);
  std::thread([&] {
    replace(blocks);
    std::vector<void*> own = make_blocks(100, 8192);
    std::thread([&] { free_blocks(own); }).join();
    ASSERT_TRUE(this_heap->inbox.has_any());
    for (std::uint32_t i = 0; i < kRefillsPerPurge; ++i) {
      deallocate(extra);
      extra = allocate(kSize);
    }
    EXPECT_FALSE(this_heap->inbox.has_any());
  }).join();
  deallocate(extra);
  free_blocks(blocks);
}

TEST(BorrowedDeathTest, ABlockThatIsFreedTwiceIsFoundWhenTheBorrowedBlocksGoHome) {
  std::vector<void*> blocks = make_blocks(kMany);
  std::vector<void*> two = make_blocks(2);
  EXPECT_DEATH(std::thread([&] {
                 replace(blocks);
                 deallocate(two[0]);
                 deallocate(two[1]);
                 deallocate(two[0]);
               }).join(),
               "the block was freed twice");
  free_blocks(two);
  free_blocks(blocks);
}

TEST(BorrowedDeathTest, ABlockThatIsFreedTwiceInARowIsFound) {
  std::vector<void*> blocks = make_blocks(kMany);
  void* const extra = allocate(kSize);
  EXPECT_DEATH(std::thread([&] {
                 replace(blocks);
                 deallocate(extra);
                 deallocate(extra);
               }).join(),
               "the block was freed twice");
  deallocate(extra);
  free_blocks(blocks);
}

}  // namespace
}  // namespace corbel::alloc
