// SPDX-License-Identifier: Apache-2.0
// Compares the statistics with a known sequence of calls, on the fake operating system, where no
// other thread allocates and the mapped bytes are known.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/size_class.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

// Checks the sums that <corbel/malloc.h> promises. No other thread may run.
void expect_adds_up(const Stats& s) {
  EXPECT_EQ(s.mapped, s.live + s.thread_cached + s.slab_free + s.orphan_free + s.slab_purged +
                          s.uncarved + s.free_resident + s.free_purged);
  Stats sums{};
  for (std::size_t i = 0; i < s.class_count; ++i) {
    const corbel_size_class_stats& c = s.classes[i];
    EXPECT_EQ(c.block_size, kSizeClasses[i].block_size);
    EXPECT_EQ(c.slabs * kSizeClasses[i].units * kUnit,
              (c.used_blocks + c.cached_blocks + c.free_blocks + c.purged_blocks) * c.block_size +
                  c.uncarved);
    sums.live += c.used_blocks * c.block_size;
    sums.thread_cached += c.cached_blocks * c.block_size;
    sums.slab_free += c.free_blocks * c.block_size;
    sums.slab_purged += c.purged_blocks * c.block_size;
    sums.uncarved += c.uncarved;
  }
  EXPECT_EQ(sums.live, s.live - s.large_live);
  EXPECT_EQ(sums.thread_cached, s.thread_cached);
  EXPECT_EQ(sums.slab_free, s.slab_free + s.orphan_free);
  EXPECT_EQ(sums.slab_purged, s.slab_purged);
  EXPECT_EQ(sums.uncarved, s.uncarved);
  EXPECT_EQ(s.footprint, s.mapped - s.uncommitted + s.metadata);
  EXPECT_LE(s.footprint, s.peak_footprint);
  EXPECT_LE(s.metadata, s.metadata_mapped);
  EXPECT_LE(s.largest_free, s.free_resident + s.free_purged);
  EXPECT_LE(s.mapped, s.peak_mapped);
}

class StatsTest : public testing::Test {
 protected:
  // Gives back the memory of the previous test, so that every test begins empty.
  void SetUp() override {
    trim(0);
    const Stats s = stats();
    ASSERT_EQ(s.live, 0U);
    ASSERT_EQ(s.thread_cached + s.slab_free + s.orphan_free + s.slab_purged + s.uncarved, 0U);
    ASSERT_EQ(s.free_resident, 0U);
  }
  void TearDown() override {
    expect_adds_up(stats());
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

  static const corbel_size_class_stats& of_class(const Stats& s, std::size_t size) {
    return s.classes[class_of(size)];
  }
};

TEST_F(StatsTest, BlocksOfAClassAreCountedOneByOne) {
  constexpr std::size_t kSize = 100;
  constexpr std::uint32_t kBlocks = 1000;
  const SizeClass& layout = kSizeClasses[class_of(kSize)];
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i < kBlocks; ++i) blocks.push_back(allocate(kSize));

  Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.live, kBlocks * layout.block_size);
  EXPECT_EQ(s.large_live, 0U);
  EXPECT_EQ(of_class(s, kSize).used_blocks, kBlocks);
  EXPECT_EQ(of_class(s, kSize).slabs, divide_up(kBlocks, layout.capacity));
  // The last page's blocks are carved together.
  const std::uint32_t in_last = kBlocks % layout.capacity;
  const std::uint32_t carved = std::min<std::uint32_t>(
      std::uint32_t(divide_up(in_last, layout.carve)) * layout.carve, layout.capacity);
  EXPECT_EQ(of_class(s, kSize).cached_blocks, carved - in_last);
  EXPECT_EQ(of_class(s, kSize).free_blocks, 0U);

  // Freed blocks stay in their slabs until the bin collects them.
  for (std::uint32_t i = 0; i < 300; ++i) deallocate(blocks[i]);
  s = stats();
  expect_adds_up(s);
  EXPECT_EQ(of_class(s, kSize).used_blocks, kBlocks - 300);
  EXPECT_EQ(of_class(s, kSize).free_blocks, 300U);
  EXPECT_EQ(s.slab_free, 300U * layout.block_size);
  EXPECT_EQ(s.orphan_free, 0U);

  for (std::uint32_t i = 300; i < kBlocks; ++i) deallocate(blocks[i]);
  s = stats();
  EXPECT_EQ(s.live, 0U);
}

// The uncarved rest of a slab is in the footprint if the memory was used before.
TEST_F(StatsTest, SlabsOfUsedMemory) {
  // A small heap would prefer untouched memory.
  void* other = allocate(9 << 20);
  // Allocate all free mapped memory, so that the next slab comes from it.
  const Stats before = stats();
  void* block = allocate(std::max<std::size_t>(before.largest_free, 1 << 20));
  deallocate(block);
  const std::size_t resident = stats().free_resident;
  block = allocate(100);
  const Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.free_resident, resident - kUnit);
  EXPECT_GT(s.uncarved, 0U);
  EXPECT_EQ(s.uncommitted, s.free_purged);
  deallocate(block);
  deallocate(other);
}

TEST_F(StatsTest, EveryClass) {
  std::vector<void*> blocks;
  std::size_t live = 0;
  for (unsigned i = 0; i < kClasses; ++i) {
    for (unsigned n = 0; n <= i % 5; ++n) blocks.push_back(allocate(kSizeClasses[i].block_size));
    live += (i % 5 + 1) * kSizeClasses[i].block_size;
  }
  const Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.class_count, kClasses);
  EXPECT_EQ(s.live, live);
  for (unsigned i = 0; i < kClasses; ++i) {
    EXPECT_EQ(s.classes[i].used_blocks, i % 5 + 1) << kSizeClasses[i].block_size;
    EXPECT_EQ(s.classes[i].slabs, divide_up(i % 5 + 1, kSizeClasses[i].capacity));
  }
  for (void* block : blocks) deallocate(block);
}

TEST_F(StatsTest, LargeBlocksAndFreeMemory) {
  constexpr std::size_t kLarge = 3U << 20;
  void* block = allocate(kLarge + 1);
  void* wall = allocate(1 << 20);
  std::memset(block, 1, kLarge + 1);
  Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.large_count, 2U);
  EXPECT_EQ(s.large_live, kLarge + kUnit + (1U << 20));
  EXPECT_EQ(s.live, s.large_live);
  EXPECT_EQ(s.free_resident, 0U);
  const std::size_t purged = s.free_purged;
  const std::size_t pieces = s.free_count;

  deallocate(block);
  s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.large_count, 1U);
  // The block may have been joined to the untouched memory before it.
  EXPECT_EQ(s.free_resident, kLarge + kUnit);
  EXPECT_EQ(s.free_purged, purged);
  EXPECT_LE(s.free_count, pieces + 1);
  EXPECT_GE(s.largest_free, kLarge + kUnit);

  trim(0);
  s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.free_resident, 0U);
  EXPECT_EQ(s.mapped + s.metadata_mapped, os::fake::figures().mapped_bytes);
  deallocate(wall);
}

// The walk skips even a block that is longer than the range of a leaf of the page map.
TEST_F(StatsTest, ABlockAcrossTheLeavesOfThePageMap) {
  constexpr std::size_t kHuge = std::size_t{9} << 30;
  void* block = allocate(kHuge);
  if (block == nullptr) GTEST_SKIP() << "the system refuses 9 GiB of address space";
  const Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.large_live, kHuge);
  EXPECT_EQ(s.large_count, 1U);
  EXPECT_EQ(s.mapped + s.metadata_mapped, os::fake::figures().mapped_bytes);
  deallocate(block);
  EXPECT_EQ(stats().large_live, 0U);
}

TEST_F(StatsTest, BlocksOnTheirWayBetweenThreads) {
  constexpr std::size_t kSize = 200;
  constexpr std::size_t kBlocks = 50;
  const std::size_t block_size = kSizeClasses[class_of(kSize)].block_size;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) blocks.push_back(allocate(kSize));
  const std::size_t on_list = of_class(stats(), kSize).cached_blocks;

  std::barrier step(2);
  std::thread other([&] {
    for (std::size_t i = 0; i < 20; ++i) deallocate(blocks[i]);
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.threads, 2U);
  EXPECT_EQ(of_class(s, kSize).used_blocks, kBlocks - 20) << "in the other thread's outbox";
  EXPECT_EQ(of_class(s, kSize).cached_blocks, on_list + 20);
  EXPECT_EQ(s.thread_cached, (on_list + 20) * block_size);

  step.arrive_and_wait();
  other.join();
  s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.threads, 1U);
  EXPECT_EQ(of_class(s, kSize).used_blocks, kBlocks - 20) << "in this thread's inbox";
  EXPECT_EQ(of_class(s, kSize).cached_blocks, on_list + 20);

  trim(0);
  s = stats();
  expect_adds_up(s);
  EXPECT_EQ(of_class(s, kSize).used_blocks, kBlocks - 20);
  EXPECT_EQ(of_class(s, kSize).cached_blocks, 0U);
  for (std::size_t i = 20; i < kBlocks; ++i) deallocate(blocks[i]);
}

// A thread that pushes to a heap without an owner empties its inbox while it holds the orphans'
// lock, even if another thread has taken the heap in the meantime. So no thread may read that inbox
// without the lock.
TEST_F(StatsTest, NoThreadEmptiesTheInboxThatIsBeingRead) {
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::thread looks;
  {
    const sync::LockGuard emptied(orphans_lock);
    looks = std::thread([&] {
      deallocate(allocate(1000));  // makes the thread's heap
      begun.store(true);
      stats();
      done.store(true);
    });
    while (!begun.load()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(done.load());
  }
  looks.join();
}

// Blocks in an outbox are found through their slab's first unit, also if the slab has several.
TEST_F(StatsTest, LargerBlocksOnTheirWay) {
  constexpr std::size_t kSize = 36000;
  static_assert(kSizeClasses[class_of(kSize)].units > 1);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(kSize));
  const std::size_t on_list = of_class(stats(), kSize).cached_blocks;
  std::barrier step(2);
  std::thread other([&] {
    for (int i = 7; i < 9; ++i) deallocate(blocks[std::size_t(i)]);
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  const Stats s = stats();
  EXPECT_EQ(of_class(s, kSize).used_blocks, 8U);
  EXPECT_EQ(of_class(s, kSize).cached_blocks, on_list + 2);
  step.arrive_and_wait();
  other.join();
  for (std::size_t i = 0; i < 7; ++i) deallocate(blocks[i]);
  deallocate(blocks[9]);
}

TEST_F(StatsTest, SlabsOfThreadsThatHaveEnded) {
  constexpr std::size_t kSize = 48;
  const SizeClass& layout = kSizeClasses[class_of(kSize)];
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 50; ++i) blocks.push_back(allocate(kSize));
  }).join();
  retire_rested(0);
  Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.live, 50U * 48);
  EXPECT_EQ(of_class(s, kSize).slabs, 1U);
  EXPECT_EQ(s.orphan_free, (layout.carve - 50) * 48U);
  EXPECT_EQ(s.slab_free, 0U);
  EXPECT_EQ(s.thread_cached, 0U);
  for (void* block : blocks) deallocate(block);
  trim(0);
  EXPECT_EQ(stats().orphan_free, 0U);
}

// A mapping that the system loses during a move belongs to no block, and is not counted.
TEST_F(StatsTest, ALostBlockIsNotCounted) {
  void* block = allocate(4 << 20);
  std::memset(block, 1, 4 << 20);
  void* wall = allocate(1 << 20);
  os::fake::refuse({.lost_targets_in_1000 = 1000});
  block = reallocate(block, 40 << 20);
  os::fake::refuse({});
  ASSERT_NE(block, nullptr);
  const Stats s = stats();
  expect_adds_up(s);
  EXPECT_EQ(s.large_live, (40U << 20) + (1U << 20));
  EXPECT_LE(s.mapped + s.metadata_mapped, os::fake::figures().mapped_bytes);
  deallocate(block);
  deallocate(wall);
}

}  // namespace
}  // namespace corbel::alloc
