// SPDX-License-Identifier: Apache-2.0
// parallel_sort: the order, and that no element is lost or duplicated whatever the comparison does.
#include <gtest/gtest.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "helped.hpp"

namespace {

std::mt19937 random_numbers(20);

// Inputs on which quicksorts degrade.
std::vector<int> make_input(const std::string& kind, int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  if (kind == "random") std::shuffle(v.begin(), v.end(), random_numbers);
  if (kind == "reversed") std::reverse(v.begin(), v.end());
  if (kind == "equal") std::fill(v.begin(), v.end(), 7);
  if (kind == "few values") {
    for (int& i : v) i = static_cast<int>(random_numbers() % 5);
  }
  if (kind == "pipe") {
    for (int& i : v) i = i < n / 2 ? i : n - i;
  }
  if (kind == "teeth") {
    for (int& i : v) i %= 1000;
  }
  if (kind == "one late" && n > 0) v.back() = -1;
  if (kind == "swapped") {
    for (int k = 0; k < n / 100; ++k) {
      std::swap(v[random_numbers() % v.size()], v[random_numbers() % v.size()]);
    }
  }
  return v;
}

class SortOf : public ::testing::TestWithParam<const char*> {};

TEST_P(SortOf, EveryLength) {
  for (int n = 0; n < 40; ++n) {
    std::vector<int> v = make_input(GetParam(), n);
    std::vector<int> expected = v;
    std::sort(expected.begin(), expected.end());
    tbb::parallel_sort(v);
    EXPECT_EQ(v, expected) << n;
  }
  for (const int n : {100, 1000, 1024, 1025, 10000, 60000}) {
    std::vector<int> v = make_input(GetParam(), n);
    std::vector<int> expected = v;
    std::sort(expected.begin(), expected.end());
    std::vector<int> down = v;
    std::vector<std::string> texts;
    for (int i = 0; i < n; i += 10) texts.push_back(std::to_string(v[static_cast<std::size_t>(i)]));
    tbb::parallel_sort(v.begin(), v.end());
    EXPECT_EQ(v, expected) << n;
    tbb::parallel_sort(down.begin(), down.end(), std::greater<int>());
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(down, expected) << n;
    std::vector<std::string> expected_texts = texts;
    std::sort(expected_texts.begin(), expected_texts.end());
    tbb::parallel_sort(texts);
    EXPECT_EQ(texts, expected_texts) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, SortOf,
                         ::testing::Values("sorted", "random", "reversed", "equal", "few values",
                                           "pipe", "teeth", "one late", "swapped"));

// Answers comparisons so that each pivot is as bad as possible (M. McIlroy, "A Killer Adversary for
// Quicksort", 1999).
TEST(Sort, AnAdversaryDoesNotMakeItQuadratic) {
  constexpr int kGas = 1 << 30;
  const int n = 20000;
  std::vector<int> value(static_cast<std::size_t>(n), kGas);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  int solid = 0;
  int candidate = 0;
  long comparisons = 0;
  using Sorter =
      corbel::detail::quick_sort<std::vector<int>::iterator, std::function<bool(int, int)>>;
  const std::function<bool(int, int)> less = [&](int x, int y) {
    ++comparisons;
    int& vx = value[static_cast<std::size_t>(x)];
    int& vy = value[static_cast<std::size_t>(y)];
    if (vx == kGas && vy == kGas) (x == candidate ? vx : vy) = solid++;
    if (vx == kGas) {
      candidate = x;
    } else if (vy == kGas) {
      candidate = y;
    }
    return vx < vy;
  };
  const Sorter sorter(less);
  sorter.sort(Sorter::whole(order.begin(), order.end()));
  EXPECT_LT(comparisons, 40L * n);
  for (int i = 1; i < n; ++i) {
    EXPECT_LE(value[static_cast<std::size_t>(order[static_cast<std::size_t>(i - 1)])],
              value[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
  }
}

TEST(Sort, SortedInputIsOnlyCompared) {
  for (const int n : {2, 10, 2000, 100000}) {
    std::vector<int> v = make_input("sorted", n);
    std::atomic<int> comparisons{0};
    tbb::parallel_sort(v, [&](int a, int b) {
      ++comparisons;
      return a < b;
    });
    EXPECT_EQ(comparisons, n - 1);
  }
}

TEST(Sort, EveryKindOfElement) {
  std::vector<std::unique_ptr<int>> owners;
  for (const int i : make_input("random", 20000)) owners.push_back(std::make_unique<int>(i));
  tbb::parallel_sort(owners, [](const auto& a, const auto& b) { return *a < *b; });
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(*owners[static_cast<std::size_t>(i)], i);

  std::vector<bool> bits;
  for (const int i : make_input("random", 20000)) bits.push_back(i % 3 == 0);
  tbb::parallel_sort(bits.begin(), bits.end());
  EXPECT_TRUE(std::is_sorted(bits.begin(), bits.end()));
  EXPECT_EQ(std::count(bits.begin(), bits.end(), true), 6667);

  std::deque<int> pieces;
  for (const int i : make_input("random", 20000)) pieces.push_back(i);
  tbb::parallel_sort(pieces);
  EXPECT_TRUE(std::is_sorted(pieces.begin(), pieces.end()));

  std::array<double, 5000> numbers;
  std::generate(numbers.begin(), numbers.end(), [] { return random_numbers() * 0.5; });
  tbb::parallel_sort(numbers.rbegin(), numbers.rend());
  EXPECT_TRUE(std::is_sorted(numbers.rbegin(), numbers.rend()));

  int plain[] = {3, 1, 2};
  tbb::parallel_sort(plain);
  EXPECT_TRUE(std::is_sorted(std::begin(plain), std::end(plain)));
  tbb::parallel_sort(plain, plain + 3, std::greater<>());
  EXPECT_EQ(plain[0], 3);
}

// A comparison throws when the countdown reaches 0.
std::atomic<int> countdown{0};

template <typename T>
void check_exceptions(const std::vector<T>& input) {
  std::vector<T> sorted = input;
  std::sort(sorted.begin(), sorted.end());
  int thrown = 0;
  for (int at = 1; at < 400000; at += at / 3 + 1) {
    std::vector<T> v = input;
    countdown = at;
    try {
      tbb::parallel_sort(v, [](const T& a, const T& b) {
        if (--countdown == 0) throw std::runtime_error("compared");
        return a < b;
      });
    } catch (const std::runtime_error&) {
      ++thrown;
      std::sort(v.begin(), v.end());
    }
    ASSERT_EQ(v, sorted) << at;
  }
  EXPECT_GT(thrown, 20);
}

TEST(SortErrors, NoElementIsLostWhenComparingThrows) {
  const std::vector<int> numbers = make_input("random", 10000);
  check_exceptions(numbers);
  check_exceptions(make_input("pipe", 10000));
  std::vector<std::string> texts;
  for (const int i : numbers)
    texts.push_back("a text longer than the short ones " + std::to_string(i));
  check_exceptions(texts);
}

TEST(SortErrors, CancellationByTheOuterContextLosesNothing) {
  std::vector<int> v = make_input("random", 100000);
  tbb::task_group_context context;
  const std::array<int, 1> once{};
  std::atomic<int> comparisons{0};
  tbb::parallel_for_each(
      once,
      [&](int) {
        tbb::parallel_sort(v, [&](int a, int b) {
          if (++comparisons == 50000) context.cancel_group_execution();
          return a < b;
        });
      },
      context);
  EXPECT_FALSE(std::is_sorted(v.begin(), v.end()));
  std::sort(v.begin(), v.end());
  EXPECT_EQ(v, make_input("sorted", 100000));
}

TEST(SortNested, OneInTheOther) {
  std::vector<std::vector<int>> all(20);
  for (std::vector<int>& v : all) v = make_input("random", 20000);
  tbb::parallel_for_each(all, [](std::vector<int>& v) { tbb::parallel_sort(v); });
  for (const std::vector<int>& v : all) EXPECT_EQ(v, make_input("sorted", 20000));
  tbb::parallel_sort(all, [](const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> copy = b;
    tbb::parallel_sort(copy, std::greater<>());
    return a[0] < copy[0];
  });
}

}  // namespace
