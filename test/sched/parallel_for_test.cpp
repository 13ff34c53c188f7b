// SPDX-License-Identifier: Apache-2.0
// parallel_for: every element once, in chunks of the size that the partitioner promises.
#include <gtest/gtest.h>
#include <tbb/blocked_nd_range.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "loops.hpp"

namespace {

using test::for_each_partitioner;
using test::Marks;
using test::StrictRange;

const std::vector<int> kSizes = {0, 1,  2,  3,  4,  5,   6,   7,    8,
                                 9, 31, 32, 33, 99, 100, 101, 1000, 4097};
const std::vector<int> kGrains = {1, 2, 3, 7, 32, 100, 5000};

// ---- each element once --------------------------------------------------------------------------

TEST(ParallelFor, EachElementOfARangeOnce) {
  for (const int n : kSizes) {
    for (const int grain : kGrains) {
      for_each_partitioner([&](auto&& partitioner) {
        Marks marks{std::size_t(n)};
        tbb::parallel_for(
            tbb::blocked_range<int>(0, n, std::size_t(grain)),
            [&](const tbb::blocked_range<int>& r) {
              for (int i = r.begin(); i != r.end(); ++i) marks(std::size_t(i));
            },
            partitioner);
        EXPECT_EQ(marks.first_wrong(), marks.size()) << n << " by " << grain;
      });
    }
  }
}

TEST(ParallelFor, EachNumberOnce) {
  for (const int n : kSizes) {
    for_each_partitioner([&](auto&& partitioner) {
      Marks marks{std::size_t(n)};
      tbb::parallel_for(-5, n - 5, [&](int i) { marks(std::size_t(i + 5)); }, partitioner);
      EXPECT_EQ(marks.first_wrong(), marks.size()) << n;
    });
  }
}

TEST(ParallelFor, EachStepOnce) {
  for (const int n : kSizes) {
    for (const int step : {1, 2, 3, 100}) {
      for_each_partitioner([&](auto&& partitioner) {
        Marks marks{std::size_t(n)};
        tbb::parallel_for(
            -5, n - 5, step,
            [&](int i) {
              EXPECT_EQ((i + 5) % step, 0);
              for (int k = i + 5; k < n && k < i + 5 + step; ++k) marks(std::size_t(k));
            },
            partitioner);
        EXPECT_EQ(marks.first_wrong(), marks.size()) << n << " by " << step;
      });
    }
  }
}

TEST(ParallelFor, EachElementOfStrictRangesOnce) {
  for (const int n : kSizes) {
    for (const int most : {1, 3, 50}) {
      for_each_partitioner([&](auto&& partitioner) {
        Marks marks{std::size_t(n)};
        StrictRange::Shared shared;
        tbb::parallel_for(
            StrictRange(shared, 0, n, most),
            [&](StrictRange& r) {
              for (int i = r.begin(); i != r.end(); ++i) marks(std::size_t(i));
            },
            partitioner);
        EXPECT_EQ(marks.first_wrong(), marks.size()) << n << " by " << most;
        EXPECT_EQ(shared.balance.alive, 0);
        EXPECT_FALSE(shared.split_undivided);
      });
    }
  }
}

TEST(ParallelFor, EachElementInMoreDimensionsOnce) {
  for (const int n : {0, 1, 5, 33}) {
    for_each_partitioner([&](auto&& partitioner) {
      const auto size = std::size_t(n);
      Marks flat(size * 7);
      tbb::parallel_for(
          tbb::blocked_range2d<int>(0, n, 3, 0, 7, 2),
          [&](const tbb::blocked_range2d<int>& r) {
            for (int y = r.rows().begin(); y != r.rows().end(); ++y) {
              for (int x = r.cols().begin(); x != r.cols().end(); ++x) {
                flat(std::size_t(y) * 7 + std::size_t(x));
              }
            }
          },
          partitioner);
      EXPECT_EQ(flat.first_wrong(), flat.size());
      Marks solid(size * 6);
      tbb::parallel_for(
          tbb::blocked_range3d<int>(0, 2, 0, n, 0, 3),
          [&](const tbb::blocked_range3d<int>& r) {
            for (int z = r.pages().begin(); z != r.pages().end(); ++z) {
              for (int y = r.rows().begin(); y != r.rows().end(); ++y) {
                for (int x = r.cols().begin(); x != r.cols().end(); ++x) {
                  solid((std::size_t(y) * 2 + std::size_t(z)) * 3 + std::size_t(x));
                }
              }
            }
          },
          partitioner);
      EXPECT_EQ(solid.first_wrong(), solid.size());
    });
  }
}

TEST(ParallelFor, ManyLeavesOfRangesThatSplitUnevenly) {
  // Splits off one element at a time: the tree is as deep as the range is long.
  struct Crumbs {
    int begin, end;
    Crumbs(int b, int e) : begin(b), end(e) {}
    Crumbs(Crumbs& whole, tbb::split) : begin(whole.begin + 1), end(whole.end) {
      whole.end = begin;
    }
    bool empty() const { return begin == end; }
    bool is_divisible() const { return end - begin > 1; }
  };
  for_each_partitioner([&](auto&& partitioner) {
    Marks marks(3000);
    tbb::parallel_for(
        Crumbs(0, 3000),
        [&](const Crumbs& r) {
          for (int i = r.begin; i != r.end; ++i) marks(std::size_t(i));
        },
        partitioner);
    EXPECT_EQ(marks.first_wrong(), marks.size());
  });
}

// ---- values of all kinds ------------------------------------------------------------------------

// Visits all values of Index from first up to last, with parallel_for and with a loop.
template <typename Index>
void check_small_type(Index first, Index last, Index step) {
  std::multiset<std::int64_t> expected;
  for (std::int64_t i = first; i < std::int64_t(last); i += step) expected.insert(i);
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  tbb::parallel_for(first, last, step, [&](Index i) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::int64_t(i));
  });
  EXPECT_EQ(seen, expected);
}

TEST(ParallelFor, AllValuesOfSmallTypes) {
  for (const int step : {1, 2, 7, 100, 127}) {
    check_small_type<std::uint8_t>(0, 255, std::uint8_t(step));
    check_small_type<std::int8_t>(-128, 127, std::int8_t(step));
    check_small_type<std::int16_t>(-32768, 32767, std::int16_t(step * 100));
  }
  check_small_type<int>(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), 1 << 24);
  check_small_type<int>(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(),
                        std::numeric_limits<int>::max());
  check_small_type<unsigned>(0, ~0U, 1U << 24);
}

// Checks that the chunks of [first, last) cover it without gaps.
template <typename Value>
void check_cover(Value first, Value last, std::size_t grain) {
  for_each_partitioner([&](auto&& partitioner) {
    std::mutex mutex;
    std::set<std::pair<Value, Value>> chunks;
    tbb::parallel_for(
        tbb::blocked_range<Value>(first, last, grain),
        [&](const tbb::blocked_range<Value>& r) {
          EXPECT_EQ(r.grainsize(), grain);
          const std::lock_guard<std::mutex> lock(mutex);
          EXPECT_TRUE(chunks.emplace(r.begin(), r.end()).second);
        },
        partitioner);
    Value at = first;
    for (const auto& chunk : chunks) {
      EXPECT_EQ(chunk.first, at);
      at = chunk.second;
    }
    EXPECT_EQ(at, last);
  });
}

TEST(ParallelFor, HugeRanges) {
  check_cover<int>(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), 1 << 24);
  check_cover<unsigned>(0, ~0U, (1U << 24) + 1);
  check_cover<std::int64_t>(std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max(), std::size_t(1) << 56);
  check_cover<std::uint64_t>(0, ~std::uint64_t(0), (std::size_t(1) << 56) - 1);
  check_cover<std::uint64_t>(5, ~std::uint64_t(0), std::numeric_limits<std::size_t>::max());
  check_cover<std::uint8_t>(0, 255, 1);
}

TEST(ParallelFor, Iterators) {
  std::vector<int> vector(1000, 1);
  using iterator = std::vector<int>::iterator;
  tbb::parallel_for(tbb::blocked_range<iterator>(vector.begin(), vector.end(), 10),
                    [](const tbb::blocked_range<iterator>& r) {
                      for (int& i : r) ++i;
                    });
  EXPECT_EQ(std::accumulate(vector.begin(), vector.end(), 0), 2000);
  std::deque<int> deque(1000, 1);
  using deque_iterator = std::deque<int>::iterator;
  tbb::parallel_for(
      tbb::blocked_range<deque_iterator>(deque.begin(), deque.end(), 10),
      [](const tbb::blocked_range<deque_iterator>& r) {
        for (int& i : r) ++i;
      },
      tbb::simple_partitioner());
  EXPECT_EQ(std::accumulate(deque.begin(), deque.end(), 0), 2000);
  int array[100] = {};
  tbb::parallel_for(tbb::blocked_range<int*>(array, array + 100),
                    [](const tbb::blocked_range<int*>& r) {
                      for (int& i : r) ++i;
                    });
  EXPECT_EQ(std::accumulate(array, array + 100, 0), 100);
}

// Neither an iterator nor an integer, but with the arithmetic that blocked_range requires.
struct Metres {
  int value;
  friend bool operator<(Metres a, Metres b) { return a.value < b.value; }
  friend std::size_t operator-(Metres a, Metres b) { return std::size_t(a.value - b.value); }
  friend Metres operator+(Metres a, std::size_t n) { return {a.value + int(n)}; }
};

TEST(ParallelFor, ValuesOfTheProgram) {
  for_each_partitioner([](auto&& partitioner) {
    Marks marks(100);
    tbb::parallel_for(
        tbb::blocked_range<Metres>(Metres{0}, Metres{100}, 3),
        [&](const tbb::blocked_range<Metres>& r) {
          for (int i = r.begin().value; i != r.end().value; ++i) marks(std::size_t(i));
        },
        partitioner);
    EXPECT_EQ(marks.first_wrong(), marks.size());
  });
}

// ---- how large chunks are -----------------------------------------------------------------------

class Lengths {
 public:
  template <typename Partitioner>
  Lengths(int n, int grain, Partitioner&& partitioner) {
    std::mutex mutex;
    tbb::parallel_for(
        tbb::blocked_range<int>(0, n, std::size_t(grain)),
        [&](const tbb::blocked_range<int>& r) {
          EXPECT_FALSE(r.empty());
          if (r.begin() % 16 < 2) test::work_a_little();  // so that other threads join in
          const std::lock_guard<std::mutex> lock(mutex);
          lengths_.insert(int(r.size()));
        },
        partitioner);
  }
  int shortest() const { return *lengths_.begin(); }
  int longest() const { return *lengths_.rbegin(); }
  std::size_t count() const { return lengths_.size(); }

 private:
  std::multiset<int> lengths_;
};

TEST(ParallelFor, SizesOfChunks) {
  const auto width = std::size_t(test::width());
  for (const int n : kSizes) {
    if (n == 0) continue;
    for (const int grain : kGrains) {
      SCOPED_TRACE(testing::Message() << n << " by " << grain);
      const int least = std::min(n, (grain + 1) / 2);
      const Lengths simple(n, grain, tbb::simple_partitioner());
      EXPECT_LE(simple.longest(), grain);
      EXPECT_GE(simple.shortest(), least);
      EXPECT_GE(Lengths(n, grain, tbb::auto_partitioner()).shortest(), least);
      tbb::affinity_partitioner affinity;
      EXPECT_GE(Lengths(n, grain, affinity).shortest(), least);
      const Lengths fixed(n, grain, tbb::static_partitioner());
      EXPECT_GE(fixed.shortest(), least);
      EXPECT_LE(fixed.count(), width);
      if (std::size_t(n) >= width * std::size_t(grain) * 2) {
        EXPECT_EQ(fixed.count(), width);
        EXPECT_LE(fixed.longest() - fixed.shortest(), 2);
      }
    }
  }
}

TEST(ParallelFor, AutoCallsRarelyAndEndsInSmallChunks) {
  const Lengths lengths(1'000'000, 1, tbb::auto_partitioner());
  EXPECT_LT(lengths.count(), 2000u * test::width());
  EXPECT_GT(lengths.count(), 4u);
  EXPECT_LE(lengths.shortest(), 8);
}

}  // namespace
