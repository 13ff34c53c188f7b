// SPDX-License-Identifier: Apache-2.0
// Sampled blocks are blocks like all others, whatever is done with them.
#include "alloc/heap/sampling.hpp"

#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "alloc/heap/fast_path.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/policy/idle_heaps.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "alloc/report/stats.hpp"
#include "sampling_fixture.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kSizes[] = {1,    8,     9,     100,    1024,   1025,
                                  5000, 40000, 70000, 131072, 131073, 1000000};

bool is_sampled(const void* block) {
  const Span* const span = slab_head(find_span(block));
  return span->tag() == span_tag::kSampled || (span->tag() == span_tag::kLarge && span->sampled);
}

TEST_F(SamplingTest, WithADistanceOfOneEveryBlockIsSampled) {
  begin(1);
  std::vector<void*> blocks;
  std::size_t bytes = 0;
  for (const std::size_t size : kSizes) {
    for (int i = 0; i < 50; ++i) {
      blocks.push_back(allocate(size));
      EXPECT_TRUE(is_sampled(blocks.back()));
      EXPECT_TRUE(is_block(blocks.back()));
      EXPECT_TRUE(owns(blocks.back()));
      EXPECT_GE(usable_size(blocks.back()), size);
      std::memset(blocks.back(), 0xa5, usable_size(blocks.back()));
      bytes += usable_size(blocks.back());
    }
  }
  EXPECT_EQ(recorded().blocks, blocks.size());
  EXPECT_EQ(recorded().live.bytes, bytes);
  EXPECT_EQ(recorded().live.blocks(), blocks.size());
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
  for (void* block : blocks) deallocate(block);
}

TEST_F(SamplingTest, ZeroedAndAlignedBlocksAreZeroedAndAligned) {
  begin(1);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : kSizes) {
      auto* const zeroed = static_cast<unsigned char*>(allocate_zeroed(1, size));
      EXPECT_EQ(std::count(zeroed, zeroed + size, 0), std::ptrdiff_t(size));
      EXPECT_TRUE(is_sampled(zeroed));
      std::memset(zeroed, 0xff, size);
      deallocate(zeroed);
      for (std::size_t alignment = 1; alignment <= 262144; alignment *= 4) {
        void* const block = allocate_aligned(size, alignment);
        EXPECT_EQ(address_of(block) % alignment, 0U);
        EXPECT_TRUE(is_sampled(block));
        std::memset(block, 0xff, size);
        deallocate(block);
      }
    }
  }
}

TEST_F(SamplingTest, AReallocThatChangesTheSizeCountsAsFreeAndMalloc) {
  begin(1);
  auto* block = static_cast<unsigned char*>(allocate(1));
  block[0] = 7;
  std::size_t size = usable_size(block);
  std::size_t allocations = 1;
  for (const std::size_t request :
       {20, 20, 30, 3000, 200000, 201000, 900000, 1500000, 180000, 150000, 4000, 20}) {
    block = static_cast<unsigned char*>(reallocate(block, request));
    ASSERT_EQ(block[0], 7);
    if (usable_size(block) != size) ++allocations;
    size = usable_size(block);
    EXPECT_EQ(recorded().live.bytes, size);
    EXPECT_EQ(recorded().blocks, 1U);
    EXPECT_EQ(allocated().blocks(), allocations);
  }
  deallocate(block);
}

TEST_F(SamplingTest, LargeBlocksThatMoveTakeTheirSampleAlong) {
  begin(1);
  void* blocks[] = {allocate(1 << 20), allocate(1 << 20)};
  for (std::size_t size = 3 << 20; size <= 24 << 20; size *= 2) {
    std::size_t bytes = 0;
    // Each is in the way of the other.
    for (void*& block : blocks) {
      block = reallocate(block, size);
      EXPECT_TRUE(is_sampled(block));
      bytes += usable_size(block);
    }
    EXPECT_EQ(recorded().live.bytes, bytes);
    EXPECT_EQ(recorded().blocks, 2U);
  }
  for (void* block : blocks) deallocate(block);
}

TEST_F(SamplingTest, StatisticsCountSampledBlocksAsLive) {
  begin(1);
  const Stats before = stats();
  std::vector<void*> blocks;
  std::size_t bytes = 0;
  for (const std::size_t size : kSizes) {
    for (int i = 0; i < 10; ++i) {
      blocks.push_back(allocate(size));
      bytes += usable_size(blocks.back());
    }
  }
  const Stats after = stats();
  EXPECT_EQ(after.live + after.thread_cached, before.live + before.thread_cached + bytes);
  EXPECT_EQ(after.mapped, after.live + after.thread_cached + after.slab_free + after.orphan_free +
                              after.slab_purged + after.uncarved + after.free_resident +
                              after.free_purged);
  for (void* block : blocks) deallocate(block);
  EXPECT_EQ(stats().live + stats().thread_cached, before.live + before.thread_cached);
}

TEST_F(SamplingTest, FewEmptySlabsAreKept) {
  begin(1);
  std::vector<void*> blocks;
  for (const SizeClass& layout : kSizeClasses) {
    for (int i = 0; i < 3; ++i) blocks.push_back(allocate(layout.block_size));
  }
  for (int round = 0; round < 3; ++round) {
    for (void* block : blocks) deallocate(block);
    std::size_t slabs = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < blocks.size(); i += 3) {
      const Span* const slab = slab_head(find_span(blocks[i]));
      if (slab->tag() != span_tag::kSampled) continue;
      EXPECT_EQ(slab->blocks.used.get(), 0U);
      ++slabs;
      bytes += slab->committed;
    }
    EXPECT_GT(slabs, 8U);
    EXPECT_LE(bytes, std::size_t(1) << 20);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = allocate(kSizeClasses[i / 3].block_size);
    }
  }
  for (void* block : blocks) deallocate(block);
}

TEST_F(SamplingTest, BlocksOutliveTheirThreads) {
  begin(512);
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (int k = 0; k < 100; ++k) blocks.push_back(allocate(64));
    }).join();
  }
  EXPECT_NE(recorded().blocks, 0U);
  for (void* block : blocks) deallocate(block);
}

TEST_F(SamplingTest, StartsAndStopsWhileThreadsRun) {
  begin(1);
  std::atomic<int> step{0};
  std::atomic<int> done{0};
  std::thread other([&] {
    const auto wait_for_step = [&](int n) {
      while (step.load() != n) std::this_thread::yield();
    };
    void* const first = allocate(100);
    EXPECT_TRUE(is_sampled(first));
    void* const large = allocate(500000);
    EXPECT_TRUE(is_sampled(large));
    done = 1;
    wait_for_step(1);  // off
    deallocate(first);
    deallocate(large);
    void* blocks[1000];
    for (void*& block : blocks) EXPECT_FALSE(is_sampled(block = allocate(100)));
    for (void* block : blocks) deallocate(block);
    deallocate(allocate(500000));
    done = 2;
    wait_for_step(2);  // on again
    // A thread follows when its list is empty: at most a slab's worth of blocks later.
    std::vector<void*> more;
    while (more.empty() || !is_sampled(more.back())) {
      more.push_back(allocate(100));
      ASSERT_LT(more.size(), 1000U);
    }
    for (void* block : more) deallocate(block);
    void* const again = allocate(500000);
    EXPECT_TRUE(is_sampled(again));
    deallocate(again);
  });
  while (done.load() != 1) std::this_thread::yield();
  stop_sampling();
  step = 1;
  while (done.load() != 2) std::this_thread::yield();
  EXPECT_EQ(recorded().blocks, 0U);
  start_sampling(1);
  step = 2;
  other.join();
}

// ---- aggregates -------------------------------------------------------------------------------

TEST_F(SamplingTest, PeaksAreThoseOfTheMomentWithMostLiveBytes) {
  constexpr unsigned kStacks = 30;
  StackId stacks[kStacks];
  for (unsigned i = 0; i < kStacks; ++i) {
    void* const frame = reinterpret_cast<void*>(0x1000UL + i);
    stacks[i] = intern_stack(&frame, 1);
  }
  struct Made {
    std::uintptr_t block;
    unsigned stack;
    std::uint64_t bytes;
  };
  std::vector<Made> made;
  std::uint64_t live[kStacks]{}, peak[kStacks]{};
  const Recorded before = recorded();
  // The other tests' peak must be passed.
  std::uint64_t total = before.live.bytes;
  std::uint64_t most = before.peak.bytes;
  std::mt19937_64 random(7);
  std::uintptr_t next = 16;
  for (int i = 0; i < 20000; ++i) {
    const bool grows = random() % 1000 < 400 + 200U * (i / 4000 % 2);
    if (grows || made.empty()) {
      const Made m{next += 16, unsigned(random() % kStacks), most / 50 + random() % 100000};
      {
        sync::LockGuard guard(samples_lock);
        ASSERT_TRUE(add_block(reinterpret_cast<void*>(m.block), stacks[m.stack],
                              {.parts = 1, .bytes = m.bytes}));
      }
      made.push_back(m);
      live[m.stack] += m.bytes;
      total += m.bytes;
      if (total > most) {
        most = total;
        std::copy(std::begin(live), std::end(live), std::begin(peak));
      }
    } else {
      std::swap(made[random() % made.size()], made.back());
      const Made m = made.back();
      made.pop_back();
      sync::LockGuard guard(samples_lock);
      ASSERT_TRUE(remove_block(reinterpret_cast<void*>(m.block)));
      live[m.stack] -= m.bytes;
      total -= m.bytes;
    }
    if (i % 500 != 0) continue;
    sync::LockGuard guard(samples_lock);
    for (const Aggregate* a = first_aggregate(); a != nullptr; a = a->next) {
      const auto* const stack = std::find(stacks, stacks + kStacks, a->stack);
      if (stack == stacks + kStacks) continue;
      ASSERT_EQ(a->live.bytes, live[stack - stacks]);
      ASSERT_EQ(at_peak(*a).bytes, peak[stack - stacks]);
    }
  }
  sync::LockGuard guard(samples_lock);
  for (const Made& m : made) remove_block(reinterpret_cast<void*>(m.block));
  EXPECT_FALSE(remove_block(reinterpret_cast<void*>(8)));
}

// ---- all at once ------------------------------------------------------------------------------

TEST_F(SamplingTest, ThreadsAllocateWhileSamplingChangesAndProfilesAreWritten) {
  constexpr std::size_t kThreads = 4;
  constexpr int kSteps = 40000;
  begin(512);
  std::atomic<std::size_t> running{kThreads};
  std::atomic<void*> exchanged[64]{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(unsigned(t + 1));
      for (int i = 0; i < kSteps; ++i) {
        const std::size_t size = kSizes[random() % 12] / (random() % 64 == 0 ? 1 : 50) + 1;
        auto* block = static_cast<unsigned char*>(allocate(size));
        block[0] = block[size - 1] = static_cast<unsigned char>(size);
        if (random() % 8 == 0) {
          block = static_cast<unsigned char*>(reallocate(block, size * 2));
          EXPECT_EQ(block[0], static_cast<unsigned char>(size));
        }
        deallocate(exchanged[random() % 64].exchange(block));
        if (random() % 4096 == 0) flush_thread(find_heap());
      }
      --running;
    });
  }
  const std::string output = testing::TempDir() + "corbel_sampling_test.pb.gz";
  for (unsigned i = 0; running.load() != 0; ++i) {
    constexpr std::uint64_t kDistances[] = {512, 0, 1, 100000, 64};
    start_sampling(kDistances[i % 5]);
    take_over_idle_heaps(false);
    const int error = corbel_heap_profile_write(output.c_str());
    EXPECT_TRUE(error == 0 || error == EBUSY) << error;
  }
  std::remove(output.c_str());
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<void*>& block : exchanged) deallocate(block.load());
}

}  // namespace
}  // namespace corbel::alloc
