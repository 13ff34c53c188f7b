// SPDX-License-Identifier: Apache-2.0
// Sampling is unbiased: estimates lie within four standard deviations of the truth, where the
// deviation is that of the sampling itself. The seeds are fixed.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/sample/exponential.hpp"
#include "sampling_fixture.hpp"

namespace corbel::alloc {
namespace {

std::size_t block_size(std::size_t size) {
  return size <= kMediumMax ? kSizeClasses[class_of(size)].block_size : size;
}

TEST(ExponentialTest, AgreesWithTheMathematicalLibrary) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random() >> (i % 64);
    const double expected = -std::log(double(bits | 1) * 0x1p-64);
    EXPECT_NEAR(minus_ln(bits), expected, 1e-9 * expected + 1e-12) << bits;
  }
  EXPECT_GE(minus_ln(~std::uint64_t(0)), 0);
  EXPECT_LE(minus_ln(0), 45);
  for (double x = 1e-12; x < 100; x *= 1.37) {
    EXPECT_NEAR(one_minus_exp(x), -std::expm1(-x), 1e-12 * -std::expm1(-x)) << x;
  }
  EXPECT_EQ(one_minus_exp(0), 0);
}

struct SizeAndDistance {
  std::size_t size;
  std::uint64_t every;
};

// Small, medium and large blocks, each sampled seldom or often. The large ones have whole units, so
// that none has a tail, which would depend on the memory that it gets.
constexpr SizeAndDistance kCases[] = {
    {8, 4096},    {64, 4096},     {200, 512},      {1000, 1000},     {1000, 32768},
    {5000, 4096}, {40000, 65536}, {120000, 65536}, {327680, 200000}, {917504, 600000}};

std::size_t blocks_for_samples(std::size_t samples, std::size_t size, std::uint64_t every) {
  return std::size_t(double(samples) / -std::expm1(-double(size) / double(every)));
}

class EstimateTest : public SamplingTest {
 protected:
  void expect_allocated(std::size_t count, std::size_t size) {
    Truth truth;
    truth.add(count, size, every_);
    expect_near(double(allocated().bytes), truth);
    expect_near(blocks_of(allocated()) * double(size), truth);
  }
};

// Guards need more samples than the profile, which gets only its part of them.
TEST_F(EstimateTest, TheProfileGetsItsPartOfTheSamplesForGuards) {
  constexpr std::size_t kSamples = 3000;
  for (const auto& [size, every] : kCases) {
    start_sampling(every / 16, SampledFor::kGuards);
    begin(every);
    const std::size_t count = blocks_for_samples(kSamples, size, every);
    for (std::size_t i = 0; i < count; ++i) deallocate(allocate(size));
    Truth truth;
    truth.add(count, block_size(size), every);
    expect_near(double(allocated().bytes), truth);
    stop_sampling(SampledFor::kGuards);
  }
}

TEST_F(EstimateTest, BlocksThatAreFreedAtOnce) {
  for (const auto& [request, every] : kCases) {
    SCOPED_TRACE(request);
    const std::size_t size = block_size(request);
    begin(every);
    const std::size_t count = blocks_for_samples(2000, size, every);
    for (std::size_t i = 0; i < count; ++i) deallocate(allocate(request));
    expect_allocated(count, size);
  }
}

TEST_F(EstimateTest, BlocksThatAreKept) {
  for (const auto& [request, every] : kCases) {
    SCOPED_TRACE(request);
    const std::size_t size = block_size(request);
    begin(every);
    std::vector<void*> blocks(blocks_for_samples(1000, size, every));
    for (void*& block : blocks) block = allocate(request);
    expect_allocated(blocks.size(), size);
    Truth truth;
    truth.add(blocks.size(), size, every);
    expect_near(double(recorded().live.bytes), truth);
    // Every second one, so that all slabs stay in use.
    for (std::size_t i = 0; i < blocks.size(); i += 2) deallocate(blocks[i]);
    Truth half;
    half.add(blocks.size() / 2, size, every);
    expect_near(double(recorded().live.bytes), half);
    for (std::size_t i = 1; i < blocks.size(); i += 2) deallocate(blocks[i]);
    EXPECT_EQ(recorded().live.bytes, 0U);
  }
}

// What goes back to the slabs unused must not bring the next sample forward.
TEST_F(EstimateTest, AThreadThatIsFlushedOften) {
  constexpr std::size_t kSize = 128;
  begin(4096);
  constexpr std::size_t kCount = 90000;
  for (std::size_t i = 0; i < kCount; i += 3) {
    void* const blocks[] = {allocate(kSize), allocate(kSize), allocate(kSize)};
    for (void* block : blocks) deallocate(block);
    flush_thread(find_heap());
  }
  expect_allocated(kCount, kSize);
}

TEST_F(EstimateTest, ManyThreadsThatAllocateLittle) {
  constexpr std::size_t kSize = 512;
  constexpr std::size_t kBlocks = 20;
  constexpr std::size_t kThreads = 1500;
  begin(8192);
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::thread([] {
      void* blocks[kBlocks];
      for (void*& block : blocks) block = allocate(kSize);
      for (void* block : blocks) deallocate(block);
    }).join();
  }
  expect_allocated(kThreads * kBlocks, kSize);
}

TEST(SamplePaceTest, FollowsTheRate) {
  SamplePace pace;
  std::uint64_t now = 1'000'000'000;
  const auto take = [&](std::uint64_t interval) {
    for (unsigned i = 0; i < SamplePace::kSamples; ++i) {
      now += interval;
      if (pace.count()) pace.look(now);
    }
  };
  pace.since = now;
  for (unsigned i = 0; i < 1000; ++i) take(SamplePace::kMinInterval);
  EXPECT_EQ(pace.shift, 0U);
  for (unsigned i = SamplePace::kSamples; i < SamplePace::kFree; i += SamplePace::kSamples) {
    take(0);
    EXPECT_EQ(pace.shift, 0U);
  }
  take(0);
  EXPECT_EQ(pace.shift, 1U);
  take(SamplePace::kMinInterval / 2);
  EXPECT_EQ(pace.shift, 2U);
  for (unsigned i = 0; i < 100; ++i) take(0);
  EXPECT_EQ(pace.shift, SamplePace::kMaxShift);
  // In the range from the least interval to four of them, it stays as it is.
  take(SamplePace::kMinInterval * 3);
  EXPECT_EQ(pace.shift, SamplePace::kMaxShift);
  for (unsigned i = 0; i < 100; ++i) take(SamplePace::kMinInterval * 4);
  EXPECT_EQ(pace.shift, 0U);
  // It has made up for them.
  take(0);
  EXPECT_EQ(pace.shift, 0U);
}

// The heap's distance changes all the time, by what the samples were, and so does each estimate's
// weight.
TEST_F(EstimateTest, AHeapWhoseRateIsBounded) {
  constexpr std::size_t kSizes[] = {64, 1024, 40960, 327680};
  constexpr std::size_t kRounds = 200000;
  constexpr std::uint64_t kEvery = 4096;
  begin(kEvery, SampleRate::kBounded);
  Sampler& sampler = *this_heap->sampler;
  ASSERT_TRUE(sampler.is_bounded);
  std::mt19937 random(3);
  Truth truth;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < kRounds; ++i) {
    // As if the clock had been looked at: after a sample, now and then, and by chance.
    if (sampler.pace.samples >= 8) {
      sampler.pace.samples = 0;
      sampler.pace.shift = std::uint8_t(random() % 8);
    }
    const std::size_t size = kSizes[random() % 4];
    deallocate(allocate(size));
    // What the estimate may vary by, at the distance in force.
    const unsigned bin = size <= kMediumMax ? class_of(size) : Sampler::kLarge;
    truth.add(1, size, sampler.drawn_for[bin]);
    largest = std::max(largest, sampler.drawn_for[bin]);
  }
  EXPECT_EQ(largest, kEvery << 7);
  expect_near(double(allocated().bytes), truth);
}

// Each thread frees the other's blocks and allocates as many, which it borrows.
TEST_F(EstimateTest, ThreadsThatExchangeBlocks) {
  constexpr std::size_t kSize = 256;
  constexpr std::size_t kMany = 4000;
  constexpr std::size_t kRounds = 20;
  begin(4096);
  std::vector<void*> blocks(kMany);
  const auto replace_all = [&] {
    for (void*& block : blocks) {
      deallocate(block);
      block = allocate(kSize);
    }
  };
  for (void*& block : blocks) block = allocate(kSize);
  std::uint32_t borrowed = 0;
  for (std::size_t i = 0; i < kRounds; ++i) {
    std::thread([&] {
      replace_all();
      replace_all();
      borrowed = std::max(borrowed, this_heap->bins[class_of(kSize)].borrow_capacity);
    }).join();
    replace_all();
  }
  EXPECT_NE(borrowed, 0U) << "the threads did not borrow: the test shows nothing";
  expect_allocated(kMany * (1 + 3 * kRounds), kSize);
  for (void* block : blocks) deallocate(block);
}

TEST_F(EstimateTest, ThreadsThatEndWithBorrowedBlocks) {
  constexpr std::size_t kSize = 256;
  constexpr std::size_t kRounds = 400;
  constexpr std::size_t kSent = 90;  // enough for the thread to borrow, although some are sampled
  void* blocks[kSent + 60];
  begin(4096);
  std::size_t borrowed = 0;
  for (std::size_t i = 0; i < kRounds; ++i) {
    for (void*& block : blocks) block = allocate(kSize);
    std::thread([&] {
      for (std::size_t k = 0; k < kSent; ++k) deallocate(blocks[k]);
      void* const own = allocate(kSize);
      for (std::size_t k = kSent; k < std::size(blocks); ++k) deallocate(blocks[k]);
      borrowed += borrowed_count(this_heap->bins[class_of(kSize)]);
      deallocate(own);
    }).join();
    retire_rested(0);
  }
  EXPECT_GT(borrowed, kRounds) << "the threads did not borrow: the test shows nothing";
  expect_allocated(kRounds * (std::size(blocks) + 1), kSize);
}

// The lists of a resting heap were filled before the blocks were charged.
TEST_F(EstimateTest, AHeapThatRestedWhenSamplingBegan) {
  constexpr std::size_t kSize = 64;
  deallocate(allocate(kSize));  // so that this thread has a heap
  Heap* rested = nullptr;
  std::thread([&] {
    deallocate(allocate(kSize));
    rested = this_heap;
  }).join();
  begin(1);
  std::vector<void*> blocks(200);
  std::thread([&] {
    for (void*& block : blocks) block = allocate(kSize);
    EXPECT_EQ(this_heap, rested);
  }).join();
  EXPECT_EQ(allocated().bytes, blocks.size() * kSize);
  for (void* block : blocks) deallocate(block);
}

TEST_F(EstimateTest, AMixInSeveralThreadsAtOnce) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kEvery = 16384;
  begin(kEvery);
  Truth truths[kThreads];
  std::vector<void*> kept[kThreads];
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&truth = truths[t], &mine = kept[t], t] {
      std::mt19937 random(unsigned(t + 1));
      for (int i = 0; i < 60000; ++i) {
        const std::size_t request = 1 + random() % (std::size_t(1) << (4 + random() % 9));
        mine.push_back(allocate(request));
        truth.add(1, kSizeClasses[class_of(request)].block_size, kEvery);
        if (mine.size() < 2000) continue;
        std::swap(mine[random() % mine.size()], mine.back());
        deallocate(mine.back());
        mine.pop_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Truth all;
  for (const Truth& truth : truths) {
    all.bytes += truth.bytes;
    all.variance += truth.variance;
  }
  expect_near(double(allocated().bytes), all);
  // Freed by a thread that has none of these heaps.
  for (const std::vector<void*>& mine : kept) {
    for (void* block : mine) deallocate(block);
  }
}

}  // namespace
}  // namespace corbel::alloc
