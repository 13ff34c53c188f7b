// SPDX-License-Identifier: Apache-2.0
// The concurrent unordered containers: what depends on the container, the key, the hash function or
// the allocator.
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "unordered_helpers.hpp"

namespace corbel::test {
namespace {

struct hash : std::hash<int> {};
struct equal : std::equal_to<int> {};

TEST(UnorderedMap, Elements) {
  tbb::concurrent_unordered_map<std::string, int> m;
  m["one"] = 1;
  std::string two(100, '2');
  const std::string copy = two;
  m[std::move(two)] = 2;
  EXPECT_EQ(m[copy], 2);
  EXPECT_EQ(m.at("one"), 1);
  EXPECT_EQ(std::as_const(m).at(copy), 2);
  EXPECT_THROW(m.at("three"), std::out_of_range);
  EXPECT_THROW(std::as_const(m).at("three"), std::out_of_range);
  EXPECT_EQ(m["three"], 0);
  EXPECT_EQ(m.size(), 3u);
  static_assert(std::is_same_v<decltype(m)::mapped_type, int>);
  for (auto& each : m) each.second = 7;
  EXPECT_EQ(m.at("one"), 7);
}

TEST(UnorderedMap, ElementsThatOnlyMove) {
  tbb::concurrent_unordered_map<std::string, std::unique_ptr<int>> m;
  EXPECT_TRUE(m.emplace("a", std::make_unique<int>(1)).second);
  EXPECT_TRUE(m.insert(std::pair<const std::string, std::unique_ptr<int>>("b", nullptr)).second);
  std::pair<std::string, std::unique_ptr<int>> c("c", std::make_unique<int>(3));
  EXPECT_TRUE(m.insert(std::move(c)).second);
  EXPECT_EQ(*m["c"], 3);
  EXPECT_EQ(m["d"], nullptr);
  auto moved = std::move(m);
  EXPECT_EQ(*moved.at("a"), 1);
  tbb::concurrent_unordered_set<std::unique_ptr<int>> s;
  s.insert(std::make_unique<int>(4));
  EXPECT_EQ(**s.begin(), 4);
}

struct text_hash {
  using transparent_key_equal = std::equal_to<>;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
struct text_hash20 {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

template <typename M>
void look_up_other_types() {
  M m{{"one", 1}, {"two", 2}};
  const M& constant = m;
  const std::string_view one = "one";
  EXPECT_EQ(m.find(one)->second, 1);
  EXPECT_EQ(constant.find("two")->second, 2);
  EXPECT_TRUE(m.contains(one));
  EXPECT_EQ(m.count(one), 1u);
  EXPECT_EQ(m.equal_range(one).first, m.find("one"));
  EXPECT_EQ(constant.equal_range(one).first, constant.find("one"));
  EXPECT_EQ(m.unsafe_extract(one).mapped(), 1);
  EXPECT_EQ(m.unsafe_erase("two"), 1u);
  EXPECT_TRUE(m.empty());
}

TEST(UnorderedMap, KeysOfOtherTypes) {
  using map = tbb::concurrent_unordered_map<std::string, int, text_hash>;
  static_assert(std::is_same_v<map::key_equal, std::equal_to<>>);
  look_up_other_types<map>();
  look_up_other_types<
      tbb::concurrent_unordered_map<std::string, int, text_hash20, std::equal_to<>>>();
}

TEST(UnorderedSet, DeducesItsArguments) {
  const std::vector<int> v{1, 2, 3};
  const std::vector<std::pair<int, char>> p{{1, 'a'}, {2, 'b'}};
  using A = std::allocator<int>;
  using P = std::allocator<std::pair<const int, char>>;
  tbb::concurrent_unordered_set s1(v.begin(), v.end());
  tbb::concurrent_unordered_set s2({1, 2, 3}, 8, hash(), equal(), A());
  tbb::concurrent_unordered_set s3(v.begin(), v.end(), 8, A());
  tbb::concurrent_unordered_multiset s4(v.begin(), v.end(), 8, hash(), A());
  tbb::concurrent_unordered_multiset s5({1, 2, 3}, A());
  tbb::concurrent_unordered_set s6(s1);
  tbb::concurrent_unordered_map m1(p.begin(), p.end());
  tbb::concurrent_unordered_map m2({std::pair(1, 'a')}, 8, P());
  tbb::concurrent_unordered_multimap m3(p.begin(), p.end(), P());
  tbb::concurrent_unordered_multimap m4({std::pair(1, 'a')}, 8, hash(), equal());
  tbb::concurrent_unordered_map m5(std::move(m1));
  static_assert(std::is_same_v<decltype(s1), tbb::concurrent_unordered_set<int>>);
  static_assert(std::is_same_v<decltype(s2), tbb::concurrent_unordered_set<int, hash, equal, A>>);
  static_assert(
      std::is_same_v<decltype(s3),
                     tbb::concurrent_unordered_set<int, std::hash<int>, std::equal_to<int>, A>>);
  static_assert(
      std::is_same_v<decltype(s4),
                     tbb::concurrent_unordered_multiset<int, hash, std::equal_to<int>, A>>);
  static_assert(
      std::is_same_v<decltype(s5), tbb::concurrent_unordered_multiset<int, std::hash<int>,
                                                                      std::equal_to<int>, A>>);
  static_assert(std::is_same_v<decltype(m5), tbb::concurrent_unordered_map<int, char>>);
  static_assert(
      std::is_same_v<decltype(m2), tbb::concurrent_unordered_map<int, char, std::hash<int>,
                                                                 std::equal_to<int>, P>>);
  static_assert(
      std::is_same_v<decltype(m3), tbb::concurrent_unordered_multimap<int, char, std::hash<int>,
                                                                      std::equal_to<int>, P>>);
  static_assert(
      std::is_same_v<decltype(m4), tbb::concurrent_unordered_multimap<int, char, hash, equal>>);
}

TEST(UnorderedSet, AllocatorsPropagate) {
  using A = counting_allocator<int, true>;
  using S = tbb::concurrent_unordered_set<int, hash, equal, A>;
  S a({1, 2}, A(1));
  S b({3}, A(2));
  b = a;
  EXPECT_EQ(b.get_allocator().number, 1);
  S c({4}, A(3));
  swap(b, c);
  EXPECT_EQ(b.get_allocator().number, 3);
  EXPECT_TRUE(b.size() == 1 && b.contains(4));
  b = std::move(c);
  EXPECT_EQ(b.get_allocator().number, 1);
  EXPECT_TRUE(b.size() == 2 && b.contains(1) && b.contains(2));
}

TEST(UnorderedSet, MemoryResource) {
  std::pmr::monotonic_buffer_resource memory;
  using A = std::pmr::polymorphic_allocator<std::string>;
  using S = tbb::concurrent_unordered_set<std::string, std::hash<std::string>,
                                          std::equal_to<std::string>, A>;
  S s(A{&memory});
  for (int i = 0; i < 100; ++i) s.insert(std::to_string(i));
  S t;
  t = s;
  t = std::move(s);
  EXPECT_EQ(t.size(), 100u);
}

// All elements have one hash value: each operation compares keys.
TEST(UnorderedSet, OneHashValue) {
  struct bad_hash {
    std::size_t operator()(int) const { return 5; }
  };
  tbb::concurrent_unordered_multiset<int, bad_hash> s;
  for (int i = 0; i < 600; ++i) s.insert(i % 200);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(s.count(i), 3u);
  EXPECT_EQ(s.unsafe_erase(7), 3u);
  EXPECT_EQ(s.size(), 597u);
}

// Pages, pointers and other multiples of powers of two do not crowd together.
TEST(UnorderedSet, MultiplesOfPowersOfTwo) {
  for (int shift = 0; shift < 40; ++shift) {
    tbb::concurrent_unordered_set<std::uint64_t> s;
    for (std::uint64_t i = 0; i < 4096; ++i) s.insert(i << shift);
    std::size_t longest = 0;
    for (std::size_t n = 0; n < s.unsafe_bucket_count(); ++n) {
      longest = std::max(longest, s.unsafe_bucket_size(n));
    }
    EXPECT_LE(longest, 16u) << shift;
  }
}

}  // namespace
}  // namespace corbel::test
