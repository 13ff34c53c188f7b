// SPDX-License-Identifier: Apache-2.0
// The ranges: their properties, and that splitting loses nothing.
#define CORBEL_USE_ASSERT 1
#include <gtest/gtest.h>
#include <tbb/blocked_nd_range.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>

#include <climits>
#include <cstdint>
#include <set>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using tbb::proportional_split;
using tbb::split;

// Splits completely. Returns the parts from left to right.
template <typename Range, typename How>
void split_all(Range range, const How& how, std::vector<Range>* parts) {
  if (!range.is_divisible()) {
    parts->push_back(range);
    return;
  }
  Range right(range, how);
  EXPECT_FALSE(range.empty());
  EXPECT_FALSE(right.empty());
  split_all(range, how, parts);
  split_all(right, how, parts);
}

TEST(Split, Proportion) {
  EXPECT_EQ(proportional_split().left(), 1U);
  EXPECT_EQ(proportional_split().right(), 1U);
  const proportional_split uneven(3, 5);
  EXPECT_EQ(uneven.left(), 3U);
  EXPECT_EQ(uneven.right(), 5U);
  static_cast<void>(static_cast<split>(uneven));
  EXPECT_FALSE((std::is_convertible<proportional_split, split>::value));
}

TEST(BlockedRange, ReturnsItsArguments) {
  const tbb::blocked_range<int> range(-3, 9, 4);
  EXPECT_EQ(range.begin(), -3);
  EXPECT_EQ(range.end(), 9);
  EXPECT_EQ(range.size(), 12U);
  EXPECT_EQ(range.grainsize(), 4U);
  EXPECT_FALSE(range.empty());
  EXPECT_TRUE(range.is_divisible());
  EXPECT_EQ(tbb::blocked_range<int>(1, 2).grainsize(), 1U);
  EXPECT_FALSE(tbb::blocked_range<int>(1, 2).is_divisible());
  EXPECT_TRUE(tbb::blocked_range<int>(2, 2).empty());
  EXPECT_FALSE(tbb::blocked_range<int>(0, 4, 4).is_divisible());
  EXPECT_TRUE(tbb::blocked_range<int>(0, 5, 4).is_divisible());
  EXPECT_TRUE(tbb::blocked_range<int>::is_splittable_in_proportion);
  using Range = tbb::blocked_range<short>;
  EXPECT_TRUE((std::is_same<Range::const_iterator, short>::value));
  EXPECT_TRUE((std::is_same<Range::value_type, short>::value));
  EXPECT_TRUE((std::is_same<Range::size_type, std::size_t>::value));
}

TEST(BlockedRange, KeepsTheLeftHalf) {
  tbb::blocked_range<int> left(0, 11, 3);
  const tbb::blocked_range<int> right(left, split());
  EXPECT_EQ(left.begin(), 0);
  EXPECT_EQ(left.end(), 5);
  EXPECT_EQ(right.begin(), 5);
  EXPECT_EQ(right.end(), 11);
  EXPECT_EQ(right.grainsize(), 3U);
}

TEST(BlockedRange, Proportion) {
  const auto sizes = [](std::size_t size, proportional_split how) {
    tbb::blocked_range<std::size_t> left(0, size);
    const tbb::blocked_range<std::size_t> right(left, how);
    EXPECT_EQ(left.begin(), 0U);
    EXPECT_EQ(left.end(), right.begin());
    EXPECT_EQ(right.end(), size);
    return std::make_pair(left.size(), right.size());
  };
  EXPECT_EQ(sizes(100, {3, 1}), std::make_pair(std::size_t(75), std::size_t(25)));
  EXPECT_EQ(sizes(100, {1, 3}), std::make_pair(std::size_t(25), std::size_t(75)));
  EXPECT_EQ(sizes(10, {2, 1}), std::make_pair(std::size_t(7), std::size_t(3)));
  // Neither part is empty, however small its share.
  EXPECT_EQ(sizes(2, {1, 100}), std::make_pair(std::size_t(1), std::size_t(1)));
  EXPECT_EQ(sizes(2, {100, 1}), std::make_pair(std::size_t(1), std::size_t(1)));
  // No product overflows, and none is rounded as in a float.
  const std::size_t most = SIZE_MAX - 1;
  EXPECT_EQ(sizes(most, {1, 1}).second, most / 2);
  EXPECT_EQ(sizes(most, {SIZE_MAX / 2, SIZE_MAX / 2}).second, most / 2);
  EXPECT_EQ(sizes((std::size_t(1) << 60) + 3, {1, 2}).second,
            ((std::size_t(1) << 60) + 3) / 3 * 2 + 1);
}

TEST(BlockedRange, AllOfInt) {
  tbb::blocked_range<int> left(INT_MIN, INT_MAX);
  EXPECT_EQ(left.size(), std::size_t(UINT_MAX));
  const tbb::blocked_range<int> right(left, split());
  EXPECT_EQ(left.end(), -1);
  EXPECT_EQ(right.begin(), -1);
  EXPECT_EQ(right.end(), INT_MAX);
}

TEST(BlockedRange, NothingIsLost) {
  const std::vector<proportional_split> ways{{1, 1}, {1, 7}, {5, 2}};
  for (std::size_t size : {1, 2, 3, 100, 1001}) {
    for (std::size_t grainsize : {1, 2, 7}) {
      std::vector<int> data(size);
      using Range = tbb::blocked_range<std::vector<int>::iterator>;
      for (std::size_t way = 0; way <= ways.size(); ++way) {
        std::vector<Range> parts;
        const Range whole(data.begin(), data.end(), grainsize);
        if (way < ways.size()) {
          split_all(whole, ways[way], &parts);
        } else {
          split_all(whole, split(), &parts);
        }
        auto next = data.begin();
        for (const Range& part : parts) {
          EXPECT_TRUE(part.begin() == next);
          EXPECT_LE(part.size(), grainsize);
          next = part.end();
        }
        EXPECT_TRUE(next == data.end());
      }
    }
  }
}

// A value type with only the required operations.
class Number {
 public:
  explicit Number(int value) : value_(value) {}
  bool operator<(const Number& other) const { return value_ < other.value_; }
  std::size_t operator-(const Number& other) const { return std::size_t(value_ - other.value_); }
  Number operator+(std::size_t n) const { return Number(value_ + int(n)); }
  int value() const { return value_; }

 private:
  int value_;
};

TEST(BlockedRange, ValuesOfTheProgram) {
  tbb::blocked_range<Number> left(Number(2), Number(8));
  const tbb::blocked_range<Number> right(left, split());
  EXPECT_EQ(left.end().value(), 5);
  EXPECT_EQ(right.begin().value(), 5);
  EXPECT_EQ(right.end().value(), 8);
  const char* text = "abcdef";
  tbb::blocked_range<const char*> pointers(text, text + 6);
  EXPECT_EQ(*tbb::blocked_range<const char*>(pointers, split()).begin(), 'd');
}

TEST(BlockedRangeDeathTest, MisuseIsFound) {
  EXPECT_DEATH((tbb::blocked_range<int>(0, 1, 0)), "grainsize");
  EXPECT_DEATH((tbb::blocked_range<int>(1, 0).size()), "ends before it begins");
  tbb::blocked_range<int> one(0, 1);
  EXPECT_DEATH((tbb::blocked_range<int>(one, split())), "not divisible");
  EXPECT_DEATH((tbb::blocked_range<int>(one, proportional_split())), "not divisible");
}

TEST(BlockedRange2d, TheLongerSideIsSplit) {
  using Range = tbb::blocked_range2d<int, long>;
  Range left(0, 8, 2, 0, 12, 4);  // 4 grains by 3
  EXPECT_TRUE((std::is_same<Range::row_range_type, tbb::blocked_range<int>>::value));
  EXPECT_TRUE((std::is_same<Range::col_range_type, tbb::blocked_range<long>>::value));
  const Range right(left, split());
  EXPECT_EQ(left.rows().end(), 4);
  EXPECT_EQ(right.rows().begin(), 4);
  EXPECT_EQ(right.cols().size(), 12U);
  Range wide(0, 8, 2, 0, 20, 4);
  const Range rest(wide, proportional_split(1, 3));
  EXPECT_EQ(wide.rows().size(), 8U);
  EXPECT_EQ(wide.cols().end(), 5);
  EXPECT_EQ(rest.cols().begin(), 5);
  EXPECT_TRUE(Range(0, 0, 0, 5).empty());
  EXPECT_TRUE(Range(0, 5, 0, 0).empty());
  EXPECT_FALSE(Range(0, 1, 0, 1).empty());
  EXPECT_FALSE(Range(0, 1, 0, 1).is_divisible());
  EXPECT_TRUE(Range(0, 1, 0, 2).is_divisible());
  EXPECT_TRUE(Range(0, 2, 0, 1).is_divisible());
}

TEST(BlockedRange2d, NothingIsLost) {
  std::vector<tbb::blocked_range2d<int>> parts;
  split_all(tbb::blocked_range2d<int>(0, 9, 2, 5, 18, 3), split(), &parts);
  std::set<std::pair<int, int>> seen;
  for (const auto& part : parts) {
    for (int row = part.rows().begin(); row < part.rows().end(); ++row) {
      for (int col = part.cols().begin(); col < part.cols().end(); ++col) {
        EXPECT_TRUE(seen.emplace(row, col).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), 9U * 13U);
}

TEST(BlockedRange3d, TheLongestSideIsSplit) {
  using Range = tbb::blocked_range3d<int>;
  Range pages(0, 9, 0, 8, 0, 8);
  EXPECT_EQ(Range(pages, split()).pages().begin(), 4);
  EXPECT_EQ(pages.pages().end(), 4);
  Range rows(0, 8, 0, 9, 0, 8);
  EXPECT_EQ(Range(rows, split()).rows().begin(), 4);
  Range cols(0, 8, 1, 0, 100, 50, 0, 9, 1);
  EXPECT_EQ(Range(cols, proportional_split(2, 1)).cols().begin(), 6);
  EXPECT_EQ(cols.rows().grainsize(), 50U);
  EXPECT_TRUE(Range(0, 1, 0, 1, 1, 1).empty());
  EXPECT_FALSE(Range(0, 1, 0, 1, 0, 1).is_divisible());
  EXPECT_TRUE(Range(0, 1, 0, 1, 0, 2).is_divisible());
}

TEST(BlockedRange3d, NothingIsLost) {
  std::vector<tbb::blocked_range3d<int, long, short>> parts;
  split_all(tbb::blocked_range3d<int, long, short>(0, 3, 1, -5, 4, 2, 1, 8, 3),
            proportional_split(2, 3), &parts);
  std::set<std::tuple<int, long, int>> seen;
  for (const auto& part : parts) {
    for (int page = part.pages().begin(); page < part.pages().end(); ++page) {
      for (long row = part.rows().begin(); row < part.rows().end(); ++row) {
        for (int col = part.cols().begin(); col < part.cols().end(); ++col) {
          EXPECT_TRUE(seen.emplace(page, row, col).second);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 3U * 9U * 7U);
}

TEST(BlockedNdRange, Constructors) {
  using Range = tbb::blocked_nd_range<int, 3>;
  EXPECT_TRUE((std::is_same<Range::dim_range_type, tbb::blocked_range<int>>::value));
  EXPECT_EQ(Range::dim_count(), 3U);
  const Range ranges({0, 13, 3}, {-8, 8}, tbb::blocked_range<int>(1, 2));
  EXPECT_EQ(ranges.dim(0).grainsize(), 3U);
  EXPECT_EQ(ranges.dim(1).begin(), -8);
  EXPECT_EQ(ranges.dim(1).grainsize(), 1U);
  EXPECT_EQ(ranges.dim(2).end(), 2);
  const Range sizes({4, 5, 6}, 2);
  EXPECT_EQ(sizes.dim(0).begin(), 0);
  EXPECT_EQ(sizes.dim(2).end(), 6);
  EXPECT_EQ(sizes.dim(2).grainsize(), 2U);
  const int array[3] = {1, 0, 1};
  EXPECT_TRUE(Range(array).empty());
  EXPECT_FALSE(Range({1, 1, 1}).is_divisible());
  EXPECT_TRUE(Range({1, 1, 2}).is_divisible());
}

TEST(BlockedNdRange, NothingIsLost) {
  using Range = tbb::blocked_nd_range<int, 4>;
  Range left({2, 9, 2, 3});
  const Range right(left, proportional_split(1, 2));
  EXPECT_EQ(left.dim(1).end(), 3);
  EXPECT_EQ(right.dim(1).begin(), 3);
  EXPECT_EQ(right.dim(3).size(), 3U);
  std::vector<Range> parts;
  split_all(Range({3, 1, 4, 5}, 2), split(), &parts);
  std::size_t values = 0;
  for (const Range& part : parts) {
    std::size_t product = 1;
    for (unsigned i = 0; i < 4; ++i) product *= part.dim(i).size();
    values += product;
  }
  EXPECT_EQ(values, 60U);
}

#if defined(__cpp_deduction_guides)
template <typename Expected, typename Actual>
constexpr bool is = std::is_same<Expected, Actual>::value;

TEST(Ranges, TypesAreDeduced) {
  tbb::blocked_range one(0L, 9L);
  EXPECT_TRUE((is<decltype(one), tbb::blocked_range<long>>));
  EXPECT_TRUE((is<decltype(tbb::blocked_range(0, 9, 2)), tbb::blocked_range<int>>));
  EXPECT_TRUE((is<decltype(tbb::blocked_range(one, split())), tbb::blocked_range<long>>));
  tbb::blocked_range2d two(0, 9, 0L, 9L);
  EXPECT_TRUE((is<decltype(two), tbb::blocked_range2d<int, long>>));
  EXPECT_TRUE(
      (is<decltype(tbb::blocked_range2d(0, 9, 1, 0L, 9L, 1)), tbb::blocked_range2d<int, long>>));
  EXPECT_TRUE((is<decltype(tbb::blocked_range2d(two, proportional_split())),
                  tbb::blocked_range2d<int, long>>));
  tbb::blocked_range3d three(0, 9, 0L, 9L, 'a', 'z');
  EXPECT_TRUE((is<decltype(three), tbb::blocked_range3d<int, long, char>>));
  EXPECT_TRUE((is<decltype(tbb::blocked_range3d(0, 9, 1, 0L, 9L, 1, 'a', 'z', 1)),
                  tbb::blocked_range3d<int, long, char>>));
  tbb::blocked_nd_range many(tbb::blocked_range<int>(0, 1), tbb::blocked_range<int>(0, 2));
  EXPECT_TRUE((is<decltype(many), tbb::blocked_nd_range<int, 2>>));
  EXPECT_TRUE((is<decltype(tbb::blocked_nd_range(many, split())), tbb::blocked_nd_range<int, 2>>));
  tbb::blocked_nd_range braces({0, 13, 3}, {-8, 8}, {1, 2});
  EXPECT_TRUE((is<decltype(braces), tbb::blocked_nd_range<int, 3>>));
  EXPECT_EQ(braces.dim(0).grainsize(), 3U);
  tbb::blocked_nd_range sizes({5, 6}, 2);
  EXPECT_TRUE((is<decltype(sizes), tbb::blocked_nd_range<int, 2>>));
  EXPECT_EQ(sizes.dim(1).end(), 6);
  EXPECT_EQ(sizes.dim(1).grainsize(), 2U);
}
#endif

}  // namespace
