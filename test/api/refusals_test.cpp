// SPDX-License-Identifier: Apache-2.0
// The hard limit of the heap, through every function that allocates: each refuses as documented,
// leaves existing blocks alone, and succeeds again when there is room.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/memory_pool.h>
#include <tbb/scalable_allocator.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "system.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLimit = 32 * kMiB, kTooMuch = 64 * kMiB;

bool all_bytes(const void* p, std::size_t size, int value) {
  const auto* bytes = static_cast<const unsigned char*>(p);
  return bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Sets the limit for one test.
class Refusals : public testing::Test {
 protected:
  void SetUp() override {
    scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
    ASSERT_EQ(corbel_set_heap_hard_limit(kLimit), 0);
  }
  void TearDown() override {
    corbel_set_heap_hard_limit(0);
    corbel_on_limit(nullptr, nullptr);
    void* const block = scalable_malloc(kTooMuch);
    EXPECT_NE(block, nullptr);
    scalable_free(block);
  }
};

TEST_F(Refusals, PlainAndZeroedBlocks) {
  errno = 0;
  EXPECT_EQ(scalable_malloc(kTooMuch), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(scalable_calloc(kTooMuch / 8, 8), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(Refusals, AlignedBlocks) {
  int mark = 0;
  void* untouched = &mark;
  errno = 0;
  EXPECT_EQ(scalable_posix_memalign(&untouched, 64, kTooMuch), ENOMEM);
  EXPECT_EQ(untouched, &mark);
  EXPECT_EQ(errno, 0);
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{4096}, kMiB}) {
    errno = 0;
    EXPECT_EQ(scalable_aligned_malloc(kTooMuch, alignment), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST_F(Refusals, ReallocLeavesTheOldBlock) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{100}, std::size_t{9000}, std::size_t{120000}, 3 * kMiB}) {
    void* const block = scalable_malloc(size);
    ASSERT_NE(block, nullptr);
    std::memset(block, 0x5a, size);
    const std::size_t usable = scalable_msize(block);
    errno = 0;
    EXPECT_EQ(scalable_realloc(block, kTooMuch), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(scalable_aligned_realloc(block, kTooMuch, 4096), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(scalable_msize(block), usable);
    EXPECT_TRUE(all_bytes(block, size, 0x5a));
    scalable_free(block);
  }
}

// A large block that moves needs room only for its growth, if the system moves its pages, and else
// for a second block.
TEST_F(Refusals, ALargeBlockMayGrowToTheLimit) {
  std::size_t size = 2 * kMiB;
  void* block = scalable_malloc(size);
  ASSERT_NE(block, nullptr);
  std::memset(block, 0x21, size);
  while (void* const moved = scalable_realloc(block, size + 3 * kMiB)) {
    block = moved;
    ASSERT_TRUE(all_bytes(block, size, 0x21));
    std::memset(block, 0x21, size += 3 * kMiB);
    ASSERT_LE(size, kLimit);
  }
  EXPECT_GE(size, (test::kMovesPages ? kLimit : kLimit / 2) - 6 * kMiB);
  EXPECT_TRUE(all_bytes(block, size, 0x21));
  scalable_free(block);
}

TEST_F(Refusals, AllocatorsThrow) {
  EXPECT_THROW(tbb::scalable_allocator<char>().allocate(kTooMuch), std::bad_alloc);
  EXPECT_THROW(tbb::cache_aligned_allocator<char>().allocate(kTooMuch), std::bad_alloc);
  EXPECT_THROW((void)tbb::scalable_memory_resource()->allocate(kTooMuch), std::bad_alloc);
  // The container is unchanged.
  std::vector<int, tbb::scalable_allocator<int>> numbers(1000, 7);
  EXPECT_THROW(numbers.resize(kTooMuch / sizeof(int)), std::bad_alloc);
  EXPECT_EQ(numbers, (std::vector<int, tbb::scalable_allocator<int>>(1000, 7)));
}

// A pool on the heap gets no more memory than the heap does, and stays usable after a refusal.
TEST_F(Refusals, Pools) {
  tbb::memory_pool<tbb::scalable_allocator<char>> pool;
  std::vector<void*> blocks;
  for (const std::size_t size : {100, 5000, 200000}) {
    void* block;
    while ((block = pool.malloc(size)) != nullptr) {
      std::memset(block, 0x42, size);
      blocks.push_back(block);
      ASSERT_LT(blocks.size() * 100, kLimit);
    }
    EXPECT_EQ(pool.malloc(kTooMuch), nullptr);
  }
  ASSERT_GT(blocks.size(), 1000u);
  for (void* block : blocks) {
    ASSERT_TRUE(all_bytes(block, 100, 0x42));
    pool.free(block);
  }
  void* const again = pool.malloc(100);
  EXPECT_NE(again, nullptr);
  errno = 0;
  EXPECT_EQ(pool.realloc(again, kTooMuch), nullptr);
  pool.free(again);
  corbel_set_heap_hard_limit(0);
  void* const large = pool.malloc(kTooMuch);
  EXPECT_NE(large, nullptr);
  pool.free(large);
}

TEST_F(Refusals, SmallBlocksOfOneThreadUpToTheLimit) {
  std::vector<void*> blocks;
  blocks.reserve(kLimit / 100);
  while (void* const block = scalable_malloc(112)) {
    std::memset(block, 0x33, 112);
    blocks.push_back(block);
  }
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_LE(blocks.size() * 112, kLimit);
  EXPECT_GE(blocks.size() * 112, kLimit * 8 / 10);
  // Each freed block can be allocated again at once.
  for (std::size_t i = 0; i < blocks.size(); i += 7) {
    ASSERT_TRUE(all_bytes(blocks[i], 112, 0x33));
    scalable_free(blocks[i]);
    blocks[i] = scalable_malloc(112);
    ASSERT_NE(blocks[i], nullptr) << i;
    std::memset(blocks[i], 0x33, 112);
  }
  for (void* block : blocks) {
    ASSERT_TRUE(all_bytes(block, 112, 0x33));
    scalable_free(block);
  }
}

int called(void* context, std::size_t size) {
  auto& calls = *static_cast<std::vector<std::size_t>*>(context);
  calls.push_back(size);
  return 0;
}

TEST_F(Refusals, TheCallbackIsCalledFirst) {
  std::vector<std::size_t> calls;
  calls.reserve(100);
  ASSERT_EQ(corbel_on_limit(called, &calls), 0);
  EXPECT_EQ(scalable_malloc(kTooMuch), nullptr);
  ASSERT_EQ(calls.size(), 1u);  // it frees nothing, so it is not called again
  EXPECT_GE(calls[0], kTooMuch - kLimit);
  void* const block = scalable_malloc(1000);
  EXPECT_EQ(scalable_realloc(block, kTooMuch), nullptr);
  ASSERT_EQ(calls.size(), 2u);
  scalable_free(block);
  ASSERT_EQ(corbel_on_limit(nullptr, nullptr), 0);
  const std::size_t before = calls.size();
  EXPECT_EQ(scalable_malloc(kTooMuch), nullptr);
  EXPECT_EQ(calls.size(), before);
}

// A callback that frees a block and allocates one, possibly of the very size that is short.
struct Spare {
  std::vector<void*> freed;
  std::vector<void*> made;
};

int free_one_and_make_one(void* context, std::size_t) {
  auto* spare = static_cast<Spare*>(context);
  if (spare->freed.empty()) return 0;
  scalable_free(spare->freed.back());
  spare->freed.pop_back();
  spare->made.push_back(scalable_malloc(64));
  return 1;
}

TEST_F(Refusals, BlocksOfTheCallbackAreNotLost) {
  static struct corbel_heap_stats stats;
  Spare spare;
  spare.made.reserve(100);
  for (int i = 0; i < 60; ++i) spare.freed.push_back(scalable_malloc(200 << 10));
  corbel_heap_stats(&stats, sizeof stats);
  const std::size_t live = stats.live - spare.freed.size() * scalable_msize(spare.freed[0]);
  corbel_set_heap_hard_limit(stats.footprint);
  corbel_on_limit(free_one_and_make_one, &spare);
  std::vector<void*> blocks;
  blocks.reserve(500000);
  while (spare.made.size() < 40 && blocks.size() < 500000) {
    blocks.push_back(scalable_malloc(64));
    if (blocks.back() == nullptr) break;
  }
  EXPECT_GE(spare.made.size(), 40U);
  for (void* block : blocks) scalable_free(block);
  for (void* block : spare.made) scalable_free(block);
  for (void* block : spare.freed) scalable_free(block);
  corbel_heap_stats(&stats, sizeof stats);
  EXPECT_LE(stats.live, live + 4096);
}

TEST_F(Refusals, AShrinkingBlockGivesTheRestBack) {
  corbel_set_heap_hard_limit(0);
  void* block = scalable_malloc(20 * kMiB);
  std::memset(block, 7, 20 * kMiB);
  static struct corbel_heap_stats stats;
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
  corbel_heap_stats(&stats, sizeof stats);
  corbel_set_heap_hard_limit(stats.footprint);
  block = scalable_realloc(block, 100000);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(all_bytes(block, 100000, 7));
  void* const next = scalable_malloc(10 * kMiB);
  EXPECT_NE(next, nullptr);
  scalable_free(next);
  scalable_free(block);
}

// The whole block moves, so the footprint does not grow, although it is above the limit already.
TEST_F(Refusals, AboveTheSoftLimitABlockStillMoves) {
  corbel_set_heap_hard_limit(0);
  void* block = scalable_malloc(kTooMuch);
  std::memset(block, 7, kTooMuch);
  corbel_set_heap_limit(kLimit);
  block = scalable_aligned_realloc(block, kTooMuch, 2 * kTooMuch);
  corbel_set_heap_limit(0);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (2 * kTooMuch), 0U);
  EXPECT_TRUE(all_bytes(block, kTooMuch, 7));
  scalable_aligned_free(block);
}

// Even if the caller would catch the exception: it would leave the allocator half way.
TEST_F(Refusals, ACallbackThatThrowsEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto throws = [](void*, std::size_t) -> int { throw 1; };
  EXPECT_EXIT(
      {
        std::set_terminate([] { _exit(9); });
        corbel_on_limit(throws, nullptr);
        try {
          (void)tbb::scalable_memory_resource()->allocate(kTooMuch);
        } catch (...) {
          _exit(1);
        }
      },
      testing::ExitedWithCode(test::kTerminatesOutOfC ? 9 : 3), "");
}

// Several threads, none of which can get a heap.
TEST_F(Refusals, ThreadsThatCannotGetAHeap) {
  corbel_set_heap_hard_limit(1);
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      errno = 0;
      EXPECT_EQ(scalable_malloc(kMiB), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }).join();
  }
}

}  // namespace
