// SPDX-License-Identifier: Apache-2.0
// What the time profile says of blocks: each sum is exact where every block is sampled, and
// unbiased where few are.
#include "alloc/profile/lifetimes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "alloc/heap/flush.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "sampling_fixture.hpp"

namespace corbel::alloc {
namespace {

using Sum = LifetimeSum;
using Sums = std::array<double, kLifetimeSums>;

// The threads of a test take turns.
std::uint64_t time_now = 1000000;
std::uint64_t read_clock() { return time_now; }

// A function of its own, so that its calls are told by their place. 64 bytes hold it.
#define PLACE(name, parameters, call)                            \
  __attribute__((noinline, aligned(64))) void* name parameters { \
    void* const block = call;                                    \
    asm volatile("" : : "r"(block) : "memory");                  \
    return block;                                                \
  }
PLACE(allocate_here, (std::size_t size), allocate(size))
PLACE(reallocate_here, (void* old, std::size_t size), reallocate(old, size))
PLACE(free_here, (void* old), (deallocate(old), old))

template <class Function>
bool is_in(const void* frame, Function* function) {
  return address_of(frame) - reinterpret_cast<std::uintptr_t>(function) < 64;
}

// The sums of all rows whose stack has a frame in `function`.
template <class Function>
Sums sums_of(Function* function) {
  struct Search {
    Function* function;
    Sums sums;
  } search{function, {}};
  sync::LockGuard guard(samples_lock);
  for_each_lifetime_row(
      [](void* context, const LifetimeRow& row) {
        auto& found = *static_cast<Search*>(context);
        const Stack stack = stack_of(row.stack);
        for (unsigned i = 0; i < stack.count; ++i) {
          if (!is_in(stack.frames[i], found.function)) continue;
          for (unsigned k = 0; k < kLifetimeSums; ++k) found.sums[k] += row.sums[k];
          return;
        }
      },
      &search);
  return search.sums;
}

double of(const Sums& sums, Sum sum) { return sums[unsigned(sum)]; }

class LifetimesTest : public SamplingTest {
 protected:
  void begin_lifetimes(std::uint64_t every) {
    start_lifetimes(every, SampleRate::kExact);
    flush_thread(attach_heap());
    allocated_before_ = sums_of(allocate_here);
    reallocated_before_ = sums_of(reallocate_here);
    freed_before_ = sums_of(free_here);
  }
  Sums allocated_here() const { return difference(sums_of(allocate_here), allocated_before_); }
  Sums reallocated_here() const {
    return difference(sums_of(reallocate_here), reallocated_before_);
  }
  Sums freed_here() const { return difference(sums_of(free_here), freed_before_); }

  void SetUp() override {
    SamplingTest::SetUp();
    set_lifetime_clock(read_clock);
  }
  void TearDown() override {
    stop_lifetimes();
    SamplingTest::TearDown();
    set_lifetime_clock(os::now_ns);
  }

 private:
  static Sums difference(Sums later, const Sums& earlier) {
    for (unsigned i = 0; i < kLifetimeSums; ++i) later[i] -= earlier[i];
    return later;
  }

  Sums allocated_before_{}, reallocated_before_{}, freed_before_{};
};

constexpr std::size_t kSizes[] = {100, 5000, 393216};

TEST_F(LifetimesTest, ABlockThatIsFreedSoonIsBrief) {
  begin_lifetimes(1);
  for (const std::size_t size : kSizes) {
    for (const std::uint64_t life : {0, 1, 999, 1000, 1001, 1000000}) {
      void* const block = allocate_here(size);
      time_now += life;
      deallocate(block);
    }
  }
  const Sums sums = allocated_here();
  EXPECT_EQ(of(sums, Sum::kAllocations), 18);
  EXPECT_EQ(of(sums, Sum::kAllocated), 6 * (112 + 5120 + 393216));
  EXPECT_EQ(of(sums, Sum::kBrief), 9);
  EXPECT_EQ(of(sums, Sum::kHandedOver), 0);
  EXPECT_EQ(of(sums, Sum::kReceived), 0);
  EXPECT_EQ(of(sums, Sum::kGrowths), 0);
}

TEST_F(LifetimesTest, ABlockThatAnotherThreadFreesIsHandedOver) {
  begin_lifetimes(1);
  std::vector<void*> blocks;
  for (const std::size_t size : kSizes) {
    for (int i = 0; i < 4; ++i) blocks.push_back(allocate_here(size));
  }
  time_now += 2000;
  std::thread([&] {
    for (std::size_t i = 0; i < blocks.size(); i += 2) free_here(blocks[i]);
  }).join();
  for (std::size_t i = 1; i < blocks.size(); i += 2) free_here(blocks[i]);
  EXPECT_EQ(of(allocated_here(), Sum::kAllocations), 12);
  EXPECT_EQ(of(allocated_here(), Sum::kHandedOver), 6);
  EXPECT_EQ(of(allocated_here(), Sum::kReceived), 0);
  EXPECT_EQ(of(allocated_here(), Sum::kBrief), 0);
  EXPECT_EQ(of(freed_here(), Sum::kReceived), 6);
  EXPECT_EQ(of(freed_here(), Sum::kHandedOver), 0);
}

TEST_F(LifetimesTest, AReallocThatMakesABlockLargerIsAGrowth) {
  begin_lifetimes(1);
  void* block = reallocate_here(nullptr, 100);
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 0);
  block = reallocate_here(block, 110);  // it had as many bytes already
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 0);
  block = reallocate_here(block, 5000);
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 1);
  EXPECT_EQ(of(reallocated_here(), Sum::kCopied), 112);
  block = reallocate_here(block, 200000);
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 2);
  EXPECT_EQ(of(reallocated_here(), Sum::kCopied), 112 + 5120);
  const std::size_t old_size = usable_size(block);
  void* const place = block;
  block = reallocate_here(block, 400000);
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 3);
  const double copied = of(reallocated_here(), Sum::kCopied) - 112 - 5120;
  if (block == place) {
    EXPECT_EQ(copied, 0);
  }
  EXPECT_LE(copied, double(old_size));
  block = reallocate_here(block, 3000);
  block = reallocate_here(block, 100);
  EXPECT_EQ(of(reallocated_here(), Sum::kGrowths), 3);
  EXPECT_EQ(of(reallocated_here(), Sum::kAllocations), 6);
  deallocate(block);
}

TEST_F(LifetimesTest, TheHeapProfileGoesOnBesideThem) {
  begin(1);
  begin_lifetimes(1);
  void* const both = allocate_here(100);
  EXPECT_EQ(recorded().blocks, 1U);
  stop_sampling();
  flush_thread(find_heap());
  void* const one = allocate_here(100);
  EXPECT_EQ(recorded().blocks, 1U);
  deallocate(both);
  EXPECT_EQ(recorded().blocks, 0U);
  deallocate(one);
  EXPECT_EQ(of(allocated_here(), Sum::kAllocations), 2);
  EXPECT_EQ(of(allocated_here(), Sum::kBrief), 2);
}

TEST_F(LifetimesTest, ASecondFreeEndsTheProcess) {
  begin_lifetimes(1);
  void* const block = allocate(100);
  void* const other = allocate(100);
  deallocate(block);
  EXPECT_DEATH(deallocate(block), "free: the block was freed twice");
  deallocate(other);
}

// Each sum lies within four standard deviations of the truth, those of the sampling.
struct Truths {
  Truth sums[kLifetimeSums];

  // A block of `size` bytes that counts as `value` in the sum.
  void add(Sum sum, double value, std::size_t size, std::uint64_t every) {
    const double p = -std::expm1(-double(size) / double(every));
    sums[unsigned(sum)].bytes += value;
    sums[unsigned(sum)].variance += value * value * (1 - p) / p;
  }
  void expect_near(const Sums& estimates) const {
    for (unsigned i = 0; i < kLifetimeSums; ++i) {
      EXPECT_NEAR(estimates[i], sums[i].bytes, 4 * sums[i].deviation() + 1e-6 * sums[i].bytes) << i;
    }
  }
};

TEST_F(LifetimesTest, EstimatesAreUnbiased) {
  constexpr std::uint64_t kEvery = 4096;
  constexpr std::size_t kRequests[] = {16, 112, 1024, 5120, 40960, 327680};
  begin_lifetimes(kEvery);
  std::mt19937 random(5);
  Truths allocated, received, reallocated;
  const auto count = [](Truths& truths, std::size_t size) {
    truths.add(Sum::kAllocations, 1, size, kEvery);
    truths.add(Sum::kAllocated, double(size), size, kEvery);
  };
  std::vector<void*> handed_over;
  for (int i = 0; i < 60000; ++i) {
    const std::size_t size = kRequests[random() % 6];
    void* const block = allocate_here(size);
    count(allocated, size);
    const bool is_brief = random() % 3 == 0;
    time_now += is_brief ? 500 : 5000;
    if (is_brief) allocated.add(Sum::kBrief, 1, size, kEvery);
    switch (random() % 8) {
      case 0: {
        // No block of these sizes grows in place.
        const std::size_t larger = kRequests[random() % 4 + 1];
        if (larger <= size || size > kMediumMax) break;
        void* const grown = reallocate_here(block, larger);
        count(reallocated, larger);
        reallocated.add(Sum::kGrowths, 1, larger, kEvery);
        reallocated.add(Sum::kCopied, double(size), larger, kEvery);
        time_now += 5000;
        deallocate(grown);
        continue;
      }
      case 1:
        if (is_brief || size > 2000) break;
        handed_over.push_back(block);
        allocated.add(Sum::kHandedOver, 1, size, kEvery);
        received.add(Sum::kReceived, 1, size, kEvery);
        continue;
      default:
        break;
    }
    deallocate(block);
  }
  time_now += 5000;
  std::thread([&] {
    for (void* block : handed_over) free_here(block);
  }).join();
  allocated.expect_near(allocated_here());
  received.expect_near(freed_here());
  reallocated.expect_near(reallocated_here());
  EXPECT_GT(of(reallocated_here(), Sum::kGrowths), 1000);
  EXPECT_GT(of(freed_here(), Sum::kReceived), 1000);
}

TEST_F(LifetimesTest, HandOversBetweenThreadsThatShareAnEntry) {
  begin_lifetimes(1);
  const auto in_thread = [](auto body) { std::thread(body).join(); };
  for (unsigned i = 0; i <= kMaxSampledThreads; ++i) {
    in_thread([] { deallocate(allocate(100)); });
  }
  void* block = nullptr;
  in_thread([&] { block = allocate_here(100); });
  in_thread([&] {
    void* const own = allocate_here(100);
    free_here(block);
    free_here(own);
  });
  EXPECT_EQ(of(allocated_here(), Sum::kHandedOver), 1);
  EXPECT_EQ(of(freed_here(), Sum::kReceived), 1);
}

}  // namespace
}  // namespace corbel::alloc
