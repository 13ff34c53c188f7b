// SPDX-License-Identifier: Apache-2.0
// libstdc++'s sorting, merging, partitioning and set operations with its parallel policies,
// compared with its serial algorithms.
#include "std_policies.hpp"

using namespace std_test;

TEST(StdOrder, Sort) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    for (const int bound : {2, 100, 1 << 30}) {
      std::vector<int> data = numbers(size, bound), expected = data;
      std::sort(expected.begin(), expected.end());
      std::sort(policy, data.begin(), data.end());
      ASSERT_EQ(data, expected);
      std::sort(policy, data.begin(), data.end(), std::greater<>());
      std::reverse(expected.begin(), expected.end());
      ASSERT_EQ(data, expected);
    }
  });
}

TEST(StdOrder, SortOfStrings) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<std::string> data;
    for (const int each : numbers(std::min<std::size_t>(size, 10000), 5000)) {
      data.push_back("longer than what a string holds in itself " + std::to_string(each));
    }
    std::vector<std::string> expected = data;
    std::sort(expected.begin(), expected.end());
    std::sort(policy, data.begin(), data.end());
    ASSERT_EQ(data, expected);
  });
}

TEST(StdOrder, StableSortKeepsTheOrderOfEquals) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<std::pair<int, std::size_t>> data;
    for (const int each : numbers(size, 10)) data.emplace_back(each, data.size());
    std::stable_sort(policy, data.begin(), data.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    ASSERT_TRUE(std::is_sorted(data.begin(), data.end()));
  });
}

TEST(StdOrder, PartialSort) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> data = numbers(size, 1 << 30), expected = data;
    std::sort(expected.begin(), expected.end());
    const auto middle = static_cast<std::ptrdiff_t>(size / 3);
    std::partial_sort(policy, data.begin(), data.begin() + middle, data.end());
    ASSERT_TRUE(std::equal(data.begin(), data.begin() + middle, expected.begin()));
    std::sort(data.begin(), data.end());
    ASSERT_EQ(data, expected);  // no element is lost

    const std::vector<int> source = numbers(size, 1 << 30);
    std::vector<int> copy(size / 3);
    std::partial_sort_copy(policy, source.begin(), source.end(), copy.begin(), copy.end());
    ASSERT_TRUE(std::equal(copy.begin(), copy.end(), expected.begin()));
  });
}

TEST(StdOrder, NthElement) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    if (size == 0) return;
    std::vector<int> data = numbers(size, 1 << 30), expected = data;
    std::sort(expected.begin(), expected.end());
    const auto nth = static_cast<std::ptrdiff_t>(size / 2);
    std::nth_element(policy, data.begin(), data.begin() + nth, data.end());
    ASSERT_EQ(data[size / 2], expected[size / 2]);
    ASSERT_TRUE(std::all_of(data.begin(), data.begin() + nth,
                            [&](int each) { return each <= data[size / 2]; }));
  });
}

TEST(StdOrder, Merge) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> a = sorted_numbers(size, 1000, 1), b = sorted_numbers(size / 2, 1000, 2);
    std::vector<int> result(a.size() + b.size()), expected(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    ASSERT_EQ(std::merge(policy, a.begin(), a.end(), b.begin(), b.end(), result.begin()),
              result.end());
    ASSERT_EQ(result, expected);

    std::vector<int> in_place = a;
    in_place.insert(in_place.end(), b.begin(), b.end());
    std::inplace_merge(policy, in_place.begin(),
                       in_place.begin() + static_cast<std::ptrdiff_t>(a.size()), in_place.end());
    ASSERT_EQ(in_place, expected);
  });
}

TEST(StdOrder, Sets) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const int bound = static_cast<int>(size) + 1;
    const std::vector<int> a = sorted_numbers(size, bound, 1), b = sorted_numbers(size, bound, 2);
    const auto check = [&](auto operation) {
      std::vector<int> result(2 * size, -1), expected(2 * size, -1);
      const auto end = operation(std::execution::seq, expected);
      const auto parallel_end = operation(policy, result);
      result.erase(parallel_end, result.end());
      expected.erase(end, expected.end());
      ASSERT_EQ(result, expected);
    };
    check([&](const auto& how, std::vector<int>& to) {
      return std::set_union(how, a.begin(), a.end(), b.begin(), b.end(), to.begin());
    });
    check([&](const auto& how, std::vector<int>& to) {
      return std::set_difference(how, a.begin(), a.end(), b.begin(), b.end(), to.begin());
    });
    check([&](const auto& how, std::vector<int>& to) {
      return std::set_intersection(how, a.begin(), a.end(), b.begin(), b.end(), to.begin());
    });
    check([&](const auto& how, std::vector<int>& to) {
      return std::set_symmetric_difference(how, a.begin(), a.end(), b.begin(), b.end(), to.begin());
    });
    const std::vector<int> half(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size / 2));
    ASSERT_TRUE(std::includes(policy, a.begin(), a.end(), half.begin(), half.end()));
    ASSERT_EQ(std::includes(policy, a.begin(), a.end(), b.begin(), b.end()),
              std::includes(a.begin(), a.end(), b.begin(), b.end()));
  });
}

TEST(StdOrder, Partition) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> source = numbers(size, 1000);
    std::vector<int> data = source;
    const auto middle = std::partition(policy, data.begin(), data.end(), is_even);
    ASSERT_TRUE(std::all_of(data.begin(), middle, is_even));
    ASSERT_TRUE(std::none_of(middle, data.end(), is_even));
    ASSERT_TRUE(std::is_partitioned(policy, data.begin(), data.end(), is_even));
    std::sort(data.begin(), data.end());
    ASSERT_EQ(data, sorted_numbers(size, 1000));

    std::vector<int> stable = source, expected = source;
    std::stable_partition(policy, stable.begin(), stable.end(), is_even);
    std::stable_partition(expected.begin(), expected.end(), is_even);
    ASSERT_EQ(stable, expected);

    std::vector<int> even(size), odd(size), even_expected(size), odd_expected(size);
    std::partition_copy(policy, source.begin(), source.end(), even.begin(), odd.begin(), is_even);
    std::partition_copy(source.begin(), source.end(), even_expected.begin(), odd_expected.begin(),
                        is_even);
    ASSERT_EQ(even, even_expected);
    ASSERT_EQ(odd, odd_expected);
  });
}

TEST(StdOrder, IsSortedAndHeap) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> data = sorted_numbers(size, 1 << 30);
    ASSERT_TRUE(std::is_sorted(policy, data.begin(), data.end()));
    if (size < 2) return;
    data[size - 1] = -1;
    ASSERT_FALSE(std::is_sorted(policy, data.begin(), data.end()));
    ASSERT_EQ(std::is_sorted_until(policy, data.begin(), data.end()), data.end() - 1);
    std::make_heap(data.begin(), data.end());
    ASSERT_TRUE(std::is_heap(policy, data.begin(), data.end()));
    data[size - 1] = data[0] + 1;
    ASSERT_EQ(std::is_heap_until(policy, data.begin(), data.end()), data.end() - 1);
  });
}
