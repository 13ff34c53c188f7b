// SPDX-License-Identifier: Apache-2.0
// Algorithms that visit every element: libstdc++'s loops, copies, reductions and scans with its
// parallel policies, compared with its serial algorithms.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "std_policies.hpp"

using namespace std_test;

TEST(StdNumeric, ForEachVisitsEachElementOnce) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> visits(size, 0);
    std::for_each(policy, visits.begin(), visits.end(), [](int& each) { each++; });
    ASSERT_EQ(visits, std::vector<int>(size, 1));
    std::for_each_n(policy, visits.begin(), size / 2, [](int& each) { each++; });
    ASSERT_EQ(std::accumulate(visits.begin(), visits.end(), std::size_t(0)), size + size / 2);
  });
}

TEST(StdNumeric, Transform) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> a = numbers(size, 1000, 1), b = numbers(size, 1000, 2);
    std::vector<int> result(size), expected(size);
    std::transform(policy, a.begin(), a.end(), result.begin(), [](int x) { return 3 * x + 1; });
    std::transform(a.begin(), a.end(), expected.begin(), [](int x) { return 3 * x + 1; });
    ASSERT_EQ(result, expected);
    std::transform(policy, a.begin(), a.end(), b.begin(), result.begin(), std::minus<>());
    std::transform(a.begin(), a.end(), b.begin(), expected.begin(), std::minus<>());
    ASSERT_EQ(result, expected);
  });
}

TEST(StdNumeric, Reduce) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> a = numbers(size, 100, 1), b = numbers(size, 100, 2);
    ASSERT_EQ(std::reduce(policy, a.begin(), a.end()), std::accumulate(a.begin(), a.end(), 0));
    ASSERT_EQ(std::reduce(policy, a.begin(), a.end(), 7L), std::accumulate(a.begin(), a.end(), 7L));
    const auto larger = [](int x, int y) { return std::max(x, y); };
    ASSERT_EQ(std::reduce(policy, a.begin(), a.end(), -1, larger),
              std::accumulate(a.begin(), a.end(), -1, larger));
    ASSERT_EQ(std::transform_reduce(policy, a.begin(), a.end(), b.begin(), 0),
              std::inner_product(a.begin(), a.end(), b.begin(), 0));
    ASSERT_EQ(std::transform_reduce(policy, a.begin(), a.end(), 1, std::plus<>(),
                                    [](int x) { return x * x; }),
              std::inner_product(a.begin(), a.end(), a.begin(), 1));
  });
}

TEST(StdNumeric, Scans) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> source = numbers(size, 1000);
    std::vector<std::int64_t> result(size), expected(size);
    std::inclusive_scan(policy, source.begin(), source.end(), result.begin(), std::plus<>(),
                        std::int64_t(5));
    std::inclusive_scan(source.begin(), source.end(), expected.begin(), std::plus<>(),
                        std::int64_t(5));
    ASSERT_EQ(result, expected);
    std::exclusive_scan(policy, source.begin(), source.end(), result.begin(), std::int64_t(5));
    std::exclusive_scan(source.begin(), source.end(), expected.begin(), std::int64_t(5));
    ASSERT_EQ(result, expected);
    const auto square = [](int x) { return std::int64_t(x) * x; };
    std::transform_inclusive_scan(policy, source.begin(), source.end(), result.begin(),
                                  std::plus<>(), square, std::int64_t(0));
    std::transform_inclusive_scan(source.begin(), source.end(), expected.begin(), std::plus<>(),
                                  square, std::int64_t(0));
    ASSERT_EQ(result, expected);
    std::transform_exclusive_scan(policy, source.begin(), source.end(), result.begin(),
                                  std::int64_t(9), std::plus<>(), square);
    std::transform_exclusive_scan(source.begin(), source.end(), expected.begin(), std::int64_t(9),
                                  std::plus<>(), square);
    ASSERT_EQ(result, expected);
    std::adjacent_difference(policy, source.begin(), source.end(), result.begin());
    std::adjacent_difference(source.begin(), source.end(), expected.begin());
    ASSERT_EQ(result, expected);
  });
}

// Concatenation does not commute: parts must be joined in order.
TEST(StdNumeric, ScanKeepsTheOrderOfParts) {
  std::vector<std::string> letters;
  for (const int each : numbers(2500, 26)) letters.emplace_back(1, static_cast<char>('a' + each));
  std::vector<std::string> result(letters.size()), expected(letters.size());
  std::inclusive_scan(std::execution::par, letters.begin(), letters.end(), result.begin());
  std::inclusive_scan(letters.begin(), letters.end(), expected.begin());
  ASSERT_EQ(result, expected);
}

TEST(StdNumeric, Copies) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> source = numbers(size, 10);
    const auto check = [&](auto operation) {
      std::vector<int> result(size, -1), expected(size, -1);
      const auto end = operation(policy, result) - result.begin();
      ASSERT_EQ(end, operation(std::execution::seq, expected) - expected.begin());
      ASSERT_EQ(result, expected);
    };
    check([&](const auto& how, auto& to) {
      return std::copy(how, source.begin(), source.end(), to.begin());
    });
    check([&](const auto& how, auto& to) {
      return std::copy_n(how, source.begin(), size / 2, to.begin());
    });
    check([&](const auto& how, auto& to) {
      return std::copy_if(how, source.begin(), source.end(), to.begin(), is_even);
    });
    check([&](const auto& how, auto& to) {
      return std::remove_copy(how, source.begin(), source.end(), to.begin(), 3);
    });
    check([&](const auto& how, auto& to) {
      return std::unique_copy(how, source.begin(), source.end(), to.begin());
    });
    check([&](const auto& how, auto& to) {
      return std::replace_copy(how, source.begin(), source.end(), to.begin(), 3, 33);
    });
    check([&](const auto& how, auto& to) {
      return std::reverse_copy(how, source.begin(), source.end(), to.begin());
    });
    check([&](const auto& how, auto& to) {
      const auto middle = source.begin() + static_cast<std::ptrdiff_t>(size / 3);
      return std::rotate_copy(how, source.begin(), middle, source.end(), to.begin());
    });
  });
}

TEST(StdNumeric, ChangesInPlace) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> source = numbers(size, 10);
    // Elements after the new end are unspecified and cut off.
    const auto check = [&](auto operation) {
      std::vector<int> result = source, expected = source;
      result.erase(operation(policy, result), result.end());
      expected.erase(operation(std::execution::seq, expected), expected.end());
      ASSERT_EQ(result, expected);
    };
    check([](const auto& how, auto& data) {
      return std::remove_if(how, data.begin(), data.end(), is_even);
    });
    check(
        [](const auto& how, auto& data) { return std::remove(how, data.begin(), data.end(), 4); });
    check([](const auto& how, auto& data) { return std::unique(how, data.begin(), data.end()); });
    check([](const auto& how, auto& data) {
      std::replace_if(how, data.begin(), data.end(), is_even, 77);
      return data.end();
    });
    check([](const auto& how, auto& data) {
      std::reverse(how, data.begin(), data.end());
      return data.end();
    });
    check([](const auto& how, auto& data) {
      const auto middle = data.begin() + static_cast<std::ptrdiff_t>(data.size() / 3);
      return std::rotate(how, data.begin(), middle, data.end());
    });
    check([](const auto& how, auto& data) {
      std::fill(how, data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2), data.end(), 5);
      return data.end();
    });
    check([](const auto& how, auto& data) {
      return std::fill_n(how, data.begin(), data.size() / 2, 5);
    });
    check([](const auto& how, auto& data) {
      std::generate(how, data.begin(), data.end(), [] { return 8; });
      return data.end();
    });
    check([](const auto& how, auto& data) {
      const auto middle = data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2);
      return std::swap_ranges(how, data.begin(), middle, middle);
    });
  });
}

namespace {
// Counts the live objects.
struct Counted {
  Counted() : value(7) { alive.fetch_add(1, std::memory_order_relaxed); }
  Counted(int number) : value(number) { alive.fetch_add(1, std::memory_order_relaxed); }
  Counted(const Counted& other) : Counted(other.value) {}
  ~Counted() { alive.fetch_sub(1, std::memory_order_relaxed); }
  static std::atomic<int> alive;
  int value;
};
std::atomic<int> Counted::alive{0};
}  // namespace

TEST(StdNumeric, UninitializedMemory) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::allocator<Counted> memory;
    Counted* const to = memory.allocate(size + 1);
    Counted* const end = to + size;
    const auto check = [&](int expected_sum) {
      int sum = 0;
      for (const Counted* each = to; each != end; ++each) sum += each->value;
      EXPECT_EQ(sum, expected_sum);
      EXPECT_EQ(Counted::alive.load(std::memory_order_relaxed), static_cast<int>(size));
      std::destroy(policy, to, end);
      EXPECT_EQ(Counted::alive.load(std::memory_order_relaxed), 0);
    };
    const std::vector<int> source = numbers(size, 1000);
    const int sum = std::accumulate(source.begin(), source.end(), 0);
    const int count = static_cast<int>(size);
    std::uninitialized_copy(policy, source.begin(), source.end(), to);
    check(sum);
    std::uninitialized_move(policy, source.begin(), source.end(), to);
    check(sum);
    std::uninitialized_fill(policy, to, end, Counted(3));
    check(3 * count);
    std::uninitialized_default_construct(policy, to, end);
    check(7 * count);
    std::uninitialized_value_construct_n(policy, to, size);
    check(7 * count);
    memory.deallocate(to, size + 1);
  });
}

// An algorithm inside an element function. The inner one runs on the same threads.
TEST(StdNumeric, Nested) {
  std::vector<int> rows(100);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<int> columns(1000, 1);
  std::vector<int> sums(rows.size());
  std::transform(std::execution::par, rows.begin(), rows.end(), sums.begin(), [&](int row) {
    return std::reduce(std::execution::par, columns.begin(), columns.begin() + row * 10);
  });
  for (const int row : rows) ASSERT_EQ(sums[row], row * 10);
}

// [algorithms.parallel.exceptions] requires std::terminate, whichever thread throws.
TEST(StdNumericDeathTest, AnExceptionTerminates) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::set_terminate([] { std::_Exit(42); });
        std::vector<int> data(10000, 0);
        data[7777] = 1;
        try {
          std::for_each(std::execution::par, data.begin(), data.end(), [](int each) {
            if (each == 1) throw std::runtime_error("from an element function");
          });
        } catch (...) {
        }
        std::_Exit(1);
      },
      testing::ExitedWithCode(42), "");
}
