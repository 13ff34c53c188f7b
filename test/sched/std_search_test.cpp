// SPDX-License-Identifier: Apache-2.0
// Algorithms that search: libstdc++'s searches and comparisons with its parallel policies, compared
// with its serial algorithms.
#include <array>

#include "std_policies.hpp"

using namespace std_test;

namespace {
// Positions among `size` elements at which the searched element may be.
std::vector<std::size_t> places(std::size_t size) {
  if (size == 0) return {};
  return {0, size / 2, size - 1};
}
}  // namespace

TEST(StdSearch, FindGivesTheFirst) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> data(size, 0);
    ASSERT_EQ(std::find(policy, data.begin(), data.end(), 1), data.end());
    for (const std::size_t place : places(size)) {
      std::fill(data.begin(), data.end(), 0);
      data[place] = data[size - 1] = 1;
      const auto expected = data.begin() + static_cast<std::ptrdiff_t>(place);
      ASSERT_EQ(std::find(policy, data.begin(), data.end(), 1), expected);
      ASSERT_EQ(std::find_if(policy, data.begin(), data.end(), [](int x) { return x > 0; }),
                expected);
      ASSERT_EQ(std::find_if_not(policy, data.begin(), data.end(), is_even), expected);
      const std::array<int, 2> any = {5, 1};
      ASSERT_EQ(std::find_first_of(policy, data.begin(), data.end(), any.begin(), any.end()),
                expected);
    }
  });
}

TEST(StdSearch, AnyAllNoneCount) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> data(size, 0);
    const auto is_one = [](int x) { return x == 1; };
    ASSERT_FALSE(std::any_of(policy, data.begin(), data.end(), is_one));
    ASSERT_TRUE(std::all_of(policy, data.begin(), data.end(), is_even));
    for (const std::size_t place : places(size)) {
      std::fill(data.begin(), data.end(), 0);
      data[place] = 1;
      ASSERT_TRUE(std::any_of(policy, data.begin(), data.end(), is_one));
      ASSERT_FALSE(std::none_of(policy, data.begin(), data.end(), is_one));
      ASSERT_FALSE(std::all_of(policy, data.begin(), data.end(), is_even));
      ASSERT_EQ(std::count(policy, data.begin(), data.end(), 1), 1);
    }
    const std::vector<int> many = numbers(size, 10);
    ASSERT_EQ(std::count_if(policy, many.begin(), many.end(), is_even),
              std::count_if(many.begin(), many.end(), is_even));
  });
}

TEST(StdSearch, MinAndMax) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    // Few distinct values: the standard says which of the equal ones is found.
    const std::vector<int> data = numbers(size, 4);
    ASSERT_EQ(std::min_element(policy, data.begin(), data.end()),
              std::min_element(data.begin(), data.end()));
    ASSERT_EQ(std::max_element(policy, data.begin(), data.end()),
              std::max_element(data.begin(), data.end()));
    ASSERT_EQ(std::minmax_element(policy, data.begin(), data.end()),
              std::minmax_element(data.begin(), data.end()));
  });
}

TEST(StdSearch, AdjacentFind) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    std::vector<int> data(size);
    std::iota(data.begin(), data.end(), 0);
    ASSERT_EQ(std::adjacent_find(policy, data.begin(), data.end()), data.end());
    if (size < 2) return;
    for (const std::size_t place : {std::size_t(0), size / 2, size - 2}) {
      if (place + 1 >= size) continue;
      std::iota(data.begin(), data.end(), 0);
      data[place + 1] = data[place];
      ASSERT_EQ(std::adjacent_find(policy, data.begin(), data.end()) - data.begin(),
                static_cast<std::ptrdiff_t>(place));
    }
  });
}

TEST(StdSearch, Subsequences) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> data = numbers(size, 3), sought = numbers(5, 3, 2);
    ASSERT_EQ(std::search(policy, data.begin(), data.end(), sought.begin(), sought.end()),
              std::search(data.begin(), data.end(), sought.begin(), sought.end()));
    ASSERT_EQ(std::find_end(policy, data.begin(), data.end(), sought.begin(), sought.end()),
              std::find_end(data.begin(), data.end(), sought.begin(), sought.end()));
    ASSERT_EQ(std::search_n(policy, data.begin(), data.end(), 4, 1),
              std::search_n(data.begin(), data.end(), 4, 1));
  });
}

TEST(StdSearch, Comparisons) {
  for_policies_and_sizes([](const auto& policy, std::size_t size) {
    const std::vector<int> data = numbers(size, 100);
    std::vector<int> other = data;
    ASSERT_TRUE(std::equal(policy, data.begin(), data.end(), other.begin(), other.end()));
    ASSERT_EQ(std::mismatch(policy, data.begin(), data.end(), other.begin()).first, data.end());
    ASSERT_FALSE(
        std::lexicographical_compare(policy, data.begin(), data.end(), other.begin(), other.end()));
    for (const std::size_t place : places(size)) {
      other = data;
      other[place]++;
      ASSERT_FALSE(std::equal(policy, data.begin(), data.end(), other.begin()));
      ASSERT_EQ(std::mismatch(policy, data.begin(), data.end(), other.begin()).second,
                other.begin() + static_cast<std::ptrdiff_t>(place));
      ASSERT_TRUE(std::lexicographical_compare(policy, data.begin(), data.end(), other.begin(),
                                               other.end()));
    }
  });
}
