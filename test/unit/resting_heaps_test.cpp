// SPDX-License-Identifier: Apache-2.0
// Resting heaps: which thread gets the heap of one that has ended, and when it is taken apart.
#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "alloc/heap/allocate.hpp"
#include "alloc/heap/deallocate.hpp"
#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/options.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/policy/reclaim.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kSize = 96;

Heap* owner_of_block(const void* block) { return owner_of(find_span(block)->tag()); }

class RestingHeapsTest : public testing::Test {
 protected:
  void SetUp() override {
    // The helper thread would retire what has rested.
    options.helper_thread.store(HelperThread::kNever);
    deallocate(allocate(kSize));  // so that the main thread has a heap
    retire_rested(0);
  }
  void TearDown() override { retire_rested(0); }
};

// Runs `work` in a thread of its own and returns the heap that the thread had.
template <typename Work>
Heap* in_thread(Work work) {
  Heap* heap = nullptr;
  std::thread([&] {
    work();
    heap = this_heap;
  }).join();
  return heap;
}

TEST_F(RestingHeapsTest, TheNextThreadGetsTheHeapAsItIs) {
  void* block = nullptr;
  void* kept = nullptr;
  Heap* const first = in_thread([&] {
    kept = allocate(kSize);
    block = allocate(kSize);
    deallocate(block);
  });
  EXPECT_EQ(resting_count, 1U);
  EXPECT_EQ(owner_of_block(kept), first);
  EXPECT_NE(first->bins[class_of(kSize)].list, nullptr);
  const std::size_t live = live_heaps();
  Heap* const second = in_thread([&] {
    const Span* const slab = find_span(kept);
    void* const again = allocate(kSize);
    EXPECT_EQ(live_heaps(), live + 1);
    EXPECT_EQ(find_span(again), slab);
    EXPECT_EQ(resting_count, 0U);
    deallocate(again);
    deallocate(kept);
  });
  EXPECT_EQ(second, first);
  EXPECT_EQ(live_heaps(), live);
}

TEST_F(RestingHeapsTest, RemoteFreesReachTheNextThread) {
  std::vector<void*> blocks(3000);
  Heap* const first = in_thread([&] {
    for (void*& block : blocks) block = allocate(kSize);
  });
  for (void* block : blocks) deallocate(block);
  EXPECT_TRUE(first->inbox.has_any());
  std::set<void*> freed(blocks.begin(), blocks.end());
  Heap* const second = in_thread([&] {
    // The last ones are still in the main thread's outbox.
    constexpr std::size_t kSent = 2000;
    std::size_t again = 0;
    std::vector<void*> taken(kSent);
    for (void*& block : taken) {
      block = allocate(kSize);
      again += freed.erase(block);
    }
    EXPECT_GT(again, kSent / 2);
    for (void* block : taken) deallocate(block);
  });
  EXPECT_EQ(second, first);
  trim(0);
}

TEST_F(RestingHeapsTest, RemoteFreesReachTheOrphansWhenTheHeapIsTakenApart) {
  std::vector<void*> blocks(3000);
  Heap* const first = in_thread([&] {
    for (void*& block : blocks) block = allocate(kSize);
  });
  void* const kept = blocks.back();
  blocks.pop_back();
  for (void* block : blocks) deallocate(block);
  trim(0);
  EXPECT_EQ(resting_count, 0U);
  EXPECT_FALSE(first->inbox.has_any());
  EXPECT_EQ(owner_of_block(kept), &orphan_heap);
  EXPECT_EQ(find_span(kept)->blocks.used.get(), 1U);
  deallocate(kept);
}

TEST_F(RestingHeapsTest, OnlySoManyRest) {
  constexpr std::size_t kThreads = kMaxResting + 4;
  std::vector<void*> kept(kThreads);
  std::barrier all(kThreads);
  std::vector<std::thread> threads;
  for (void*& block : kept) {
    threads.emplace_back([&] {
      block = allocate(kSize);
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(resting_count, kMaxResting);
  std::size_t orphans = 0;
  for (void* block : kept) orphans += owner_of_block(block) == &orphan_heap;
  EXPECT_EQ(orphans, kThreads - kMaxResting);
  EXPECT_EQ(retire_rested(0), kMaxResting);
  EXPECT_EQ(resting_count, 0U);
  for (void* block : kept) {
    EXPECT_EQ(owner_of_block(block), &orphan_heap);
    deallocate(block);
  }
}

TEST_F(RestingHeapsTest, OnlyThoseThatHaveRestedForLongEnoughAreRetired) {
  Heap* const heap = in_thread([] { deallocate(allocate(kSize)); });
  heap->rests_since += 3'600'000;  // as if it had just begun, however slow the machine is
  EXPECT_EQ(retire_rested(1), 0U);
  heap->rests_since -= 7'200'000;
  EXPECT_EQ(retire_rested(kRestMs), 1U);
}

// A running thread adopts the slabs of a heap that has rested before it makes a slab.
TEST_F(RestingHeapsTest, AThreadThatNeedsASlabTakesARestedHeapApart) {
  constexpr std::size_t kOther = 176;  // a class that the main thread has no slab of
  ASSERT_EQ(this_heap->bins[class_of(kOther)].current, nullptr);
  void* kept = nullptr;
  Heap* const heap = in_thread([&] { kept = allocate(kOther); });
  heap->rests_since -= 3'600'000;
  void* const block = allocate(kOther);
  EXPECT_EQ(resting_count, 0U);
  EXPECT_EQ(find_span(block), find_span(kept));
  EXPECT_EQ(owner_of_block(kept), this_heap);
  deallocate(block);
  deallocate(kept);
}

}  // namespace
}  // namespace corbel::alloc
