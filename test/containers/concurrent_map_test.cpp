// SPDX-License-Identifier: Apache-2.0
// concurrent_map and concurrent_multimap: each documented sentence, in one thread.
#include <gtest/gtest.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_set.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "element_counts.hpp"

namespace corbel::test {
namespace {

using map = tbb::concurrent_map<int, std::string>;
using multimap = tbb::concurrent_multimap<int, std::string>;
using pairs = std::vector<std::pair<int, std::string>>;

template <typename Map>
pairs contents(const Map& m) {
  pairs all;
  for (const auto& element : m) all.emplace_back(element.first, element.second);
  EXPECT_EQ(all.size(), m.size());
  EXPECT_EQ(all.empty(), m.empty());
  return all;
}

const pairs kThree = {{1, "a"}, {2, "b"}, {3, "c"}};

static_assert(std::is_same_v<map::key_type, int>);
static_assert(std::is_same_v<map::mapped_type, std::string>);
static_assert(std::is_same_v<map::value_type, std::pair<const int, std::string>>);
static_assert(std::is_same_v<map::key_compare, std::less<int>>);
static_assert(std::is_same_v<map::allocator_type, tbb::tbb_allocator<map::value_type>>);
static_assert(std::is_same_v<map::reference, map::value_type&>);
static_assert(std::is_same_v<map::const_pointer, const map::value_type*>);
static_assert(std::is_unsigned_v<map::size_type> && std::is_signed_v<map::difference_type>);
static_assert(std::is_same_v<map::node_type, multimap::node_type>);
static_assert(std::is_convertible_v<map::iterator, map::const_iterator>);
static_assert(!std::is_convertible_v<map::const_iterator, map::iterator>);
static_assert(std::forward_iterator<map::iterator> && std::forward_iterator<map::const_iterator>);
static_assert(std::is_nothrow_move_constructible_v<map> && std::is_nothrow_move_assignable_v<map>);
static_assert(std::is_nothrow_swappable_v<map>);

TEST(ConcurrentMap, Constructors) {
  const tbb::tbb_allocator<map::value_type> allocator;
  EXPECT_TRUE(contents(map()).empty());
  EXPECT_TRUE(contents(map(allocator)).empty());
  EXPECT_TRUE(contents(map(std::less<int>())).empty());
  EXPECT_TRUE(contents(map(std::less<int>(), allocator)).empty());
  EXPECT_EQ(contents(map(kThree.begin(), kThree.end())), kThree);
  EXPECT_EQ(contents(map(kThree.begin(), kThree.end(), std::less<int>())), kThree);
  EXPECT_EQ(contents(map(kThree.begin(), kThree.end(), std::less<int>(), allocator)), kThree);
  EXPECT_EQ(contents(map(kThree.begin(), kThree.end(), allocator)), kThree);
  EXPECT_EQ(contents(map{{3, "c"}, {1, "a"}, {2, "b"}}), kThree);
  EXPECT_EQ(contents(map({{3, "c"}, {1, "a"}, {2, "b"}}, std::less<int>())), kThree);
  EXPECT_EQ(contents(map({{3, "c"}, {1, "a"}, {2, "b"}}, std::less<int>(), allocator)), kThree);
  EXPECT_EQ(contents(map({{3, "c"}, {1, "a"}, {2, "b"}}, allocator)), kThree);

  map from(kThree.begin(), kThree.end());
  EXPECT_EQ(contents(map(from)), kThree);
  EXPECT_EQ(contents(map(from, allocator)), kThree);
  const std::string* const where = &from.begin()->second;
  map moved(std::move(from));
  EXPECT_EQ(&moved.begin()->second, where);
  EXPECT_TRUE(from.empty());
  const map again(std::move(moved), allocator);
  EXPECT_EQ(&again.begin()->second, where);
  EXPECT_EQ(contents(again), kThree);
}

TEST(ConcurrentMap, Assignments) {
  const map three(kThree.begin(), kThree.end());
  map m{{7, "x"}};
  EXPECT_EQ(&(m = three), &m);
  EXPECT_EQ(m, three);
  m = *&m;
  EXPECT_EQ(m, three);
  map other{{9, "y"}};
  EXPECT_EQ(&(other = std::move(m)), &other);
  EXPECT_EQ(other, three);
  EXPECT_EQ(&(m = {{2, "q"}, {1, "p"}}), &m);
  EXPECT_EQ(contents(m), (pairs{{1, "p"}, {2, "q"}}));
  swap(m, other);
  EXPECT_EQ(m, three);
  m.swap(other);
  EXPECT_EQ(other, three);
  m.clear();
  EXPECT_TRUE(contents(m).empty());
  EXPECT_EQ(m.begin(), m.end());
  EXPECT_GT(m.max_size(), std::size_t(1) << 30);
}

TEST(ConcurrentMap, InsertInAllForms) {
  map m;
  const map::value_type one(1, "a");
  auto result = m.insert(one);
  EXPECT_TRUE(result.second);
  EXPECT_EQ(*result.first, one);
  result = m.insert(map::value_type(1, "z"));
  EXPECT_FALSE(result.second);
  EXPECT_EQ(result.first->second, "a");
  EXPECT_TRUE(m.insert(map::value_type(2, "b")).second);
  EXPECT_TRUE(m.insert(std::make_pair(3, "c")).second);  // P&&
  EXPECT_FALSE(m.insert(std::make_pair(3, std::string("z"))).second);
  EXPECT_EQ(m.insert(m.begin(), one)->second, "a");
  EXPECT_EQ(m.insert(m.cend(), map::value_type(4, "d"))->second, "d");
  EXPECT_EQ(m.insert(m.cbegin(), std::make_pair(5L, "e"))->second, "e");
  EXPECT_TRUE(m.emplace(6, "f").second);
  EXPECT_FALSE(m.emplace(6, "z").second);
  EXPECT_TRUE(m.emplace(7L, "g").second);
  EXPECT_TRUE(m.emplace(std::piecewise_construct, std::forward_as_tuple(8),
                        std::forward_as_tuple(std::size_t(1), 'h'))
                  .second);
  EXPECT_EQ(m.emplace_hint(m.end(), 9, "i")->second, "i");
  const pairs more = {{10, "j"}, {9, "z"}};
  m.insert(more.begin(), more.end());
  m.insert({{12, "l"}, {11, "k"}});
  m.insert({{13, "m"}});
  std::string all;
  for (const auto& [key, value] : m) {
    EXPECT_EQ(key, int(value[0] - 'a') + 1);
    all += value;
  }
  EXPECT_EQ(all, "abcdefghijklm");
}

TEST(ConcurrentMap, BracketsAndAt) {
  map m;
  m[2] = "b";
  const int one = 1;
  m[one] += "a";
  EXPECT_EQ(m[2], "b");
  EXPECT_EQ(contents(m), (pairs{{1, "a"}, {2, "b"}}));
  m.at(1) = "x";
  EXPECT_EQ(std::as_const(m).at(1), "x");
  EXPECT_THROW(m.at(3), std::out_of_range);
  EXPECT_THROW(std::as_const(m).at(0), std::out_of_range);
  EXPECT_EQ(m.size(), 2U);
  tbb::concurrent_map<std::unique_ptr<int>, std::unique_ptr<int>> only_movable;
  only_movable[std::make_unique<int>(1)] = std::make_unique<int>(2);
  only_movable.emplace(nullptr, nullptr);
  EXPECT_EQ(only_movable.size(), 2U);
}

TEST(ConcurrentMap, Lookups) {
  map m;
  for (int i = 0; i < 100; i += 2) m.emplace(i, std::to_string(i));
  const map& c = m;
  for (int i = -1; i < 101; ++i) {
    const bool is_in = i >= 0 && i < 100 && i % 2 == 0;
    EXPECT_EQ(c.contains(i), is_in);
    EXPECT_EQ(c.count(i), std::size_t(is_in));
    EXPECT_EQ(m.find(i) != m.end(), is_in);
    EXPECT_EQ(c.find(i), m.find(i));
    const int next = i < 0 ? 0 : (i + 1) / 2 * 2;
    EXPECT_EQ(m.lower_bound(i) == m.end() ? 100 : m.lower_bound(i)->first, next);
    EXPECT_EQ(c.lower_bound(i), m.lower_bound(i));
    EXPECT_EQ(m.upper_bound(i) == m.end() ? 100 : m.upper_bound(i)->first, next + (is_in ? 2 : 0));
    EXPECT_EQ(c.upper_bound(i), m.upper_bound(i));
    EXPECT_EQ(m.equal_range(i), std::make_pair(m.lower_bound(i), m.upper_bound(i)));
    EXPECT_EQ(c.equal_range(i), std::make_pair(c.lower_bound(i), c.upper_bound(i)));
  }
  EXPECT_TRUE(m.key_comp()(1, 2));
  EXPECT_TRUE(m.value_comp()({1, "b"}, {2, "a"}));
  EXPECT_FALSE(m.value_comp()({2, "a"}, {2, "b"}));
}

// Compares with anything that has a length.
struct by_length {
  using is_transparent = void;
  static std::size_t length(const std::string& s) { return s.size(); }
  static std::size_t length(std::size_t n) { return n; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return length(a) < length(b);
  }
};

template <typename Map>
void look_up_by_length() {
  Map m{{"a", 1}, {"bb", 2}, {"dddd", 4}};
  const Map& c = m;
  const std::size_t two = 2, three = 3;
  EXPECT_EQ(m.find(two)->second, 2);
  EXPECT_EQ(c.find(three), c.end());
  EXPECT_TRUE(c.contains(two));
  EXPECT_EQ(c.count(two), 1U);
  EXPECT_EQ(c.lower_bound(three)->second, 4);
  EXPECT_EQ(m.lower_bound(two)->second, 2);
  EXPECT_EQ(c.upper_bound(two)->second, 4);
  EXPECT_EQ(m.upper_bound(three)->second, 4);
  EXPECT_EQ(m.equal_range(two).second->second, 4);
  EXPECT_EQ(c.equal_range(two).first->second, 2);
  EXPECT_EQ(m.unsafe_erase(three), 0U);
  EXPECT_EQ(m.unsafe_erase(two), 1U);
  EXPECT_EQ(m.unsafe_extract(std::size_t(4)).mapped(), 4);
  EXPECT_TRUE(m.unsafe_extract(std::size_t(4)).empty());
  EXPECT_EQ(m.size(), 1U);
}

TEST(ConcurrentMap, TransparentComparison) {
  look_up_by_length<tbb::concurrent_map<std::string, int, by_length>>();
  look_up_by_length<tbb::concurrent_multimap<std::string, int, by_length>>();
}

TEST(ConcurrentMap, UnsafeErase) {
  map m;
  for (int i = 0; i < 200; ++i) m.emplace(i, std::to_string(i));
  EXPECT_EQ(m.unsafe_erase(m.find(0))->first, 1);
  EXPECT_EQ(m.unsafe_erase(m.cbegin())->first, 2);
  EXPECT_EQ(m.unsafe_erase(m.find(199)), m.end());
  EXPECT_EQ(m.unsafe_erase(5), 1U);
  EXPECT_EQ(m.unsafe_erase(5), 0U);
  EXPECT_EQ(m.unsafe_erase(m.find(10), m.find(190))->first, 190);
  EXPECT_EQ(m.unsafe_erase(m.cbegin(), m.cbegin()), m.begin());
  EXPECT_EQ(m.size(), 7U + 9U);
  for (int i : {2, 3, 4, 6, 7, 8, 9, 190, 198}) EXPECT_TRUE(m.contains(i));
  EXPECT_EQ(m.unsafe_erase(m.begin(), m.end()), m.end());
  EXPECT_TRUE(contents(m).empty());
  m.emplace(1, "a");
  EXPECT_EQ(m.size(), 1U);
}

TEST(ConcurrentMap, NodeHandles) {
  map m(kThree.begin(), kThree.end());
  const std::string* const where = &m.at(2);
  map::node_type handle = m.unsafe_extract(2);
  EXPECT_EQ(contents(m), (pairs{{1, "a"}, {3, "c"}}));
  EXPECT_EQ(handle.key(), 2);
  EXPECT_EQ(&handle.mapped(), where);
  handle.key() = 3;
  auto refused = m.insert(std::move(handle));
  EXPECT_FALSE(refused.second);
  EXPECT_EQ(refused.first->second, "c");
  ASSERT_FALSE(handle.empty());
  EXPECT_EQ(m.insert(m.begin(), std::move(handle))->second, "c");
  handle.key() = 4;
  auto inserted = m.insert(std::move(handle));
  EXPECT_TRUE(inserted.second);
  EXPECT_EQ(&inserted.first->second, where);
  EXPECT_TRUE(handle.empty());
  EXPECT_EQ(m.insert(std::move(handle)), std::make_pair(m.end(), false));
  EXPECT_EQ(m.insert(m.begin(), map::node_type()), m.end());
  EXPECT_TRUE(m.unsafe_extract(7).empty());

  multimap to{{4, "z"}};
  EXPECT_EQ(to.insert(m.unsafe_extract(m.find(4))).first->second, "b");
  EXPECT_EQ(to.insert(to.end(), m.unsafe_extract(m.cbegin()))->second, "a");
  EXPECT_EQ(contents(to), (pairs{{1, "a"}, {4, "z"}, {4, "b"}}));
  EXPECT_EQ(contents(m), (pairs{{3, "c"}}));
}

// A handle has a copy of the container's allocator, and frees the node by it.
TEST(ConcurrentMap, NodeHandlesKeepTheAllocator) {
  std::pmr::monotonic_buffer_resource one, two;
  using element = std::pair<const int, int>;
  using allocator = std::pmr::polymorphic_allocator<element>;
  using pmr_map = tbb::concurrent_map<int, int, std::less<int>, allocator>;
  pmr_map a({{1, 10}, {2, 20}}, allocator(&one)), b({{3, 30}}, allocator(&two));
  pmr_map::node_type handle = a.unsafe_extract(1);
  EXPECT_EQ(handle.get_allocator().resource(), &one);
  handle = b.unsafe_extract(3);
  EXPECT_EQ(handle.get_allocator().resource(), &two);
  pmr_map::node_type other = a.unsafe_extract(2);
  handle.swap(other);
  EXPECT_EQ(handle.get_allocator().resource(), &one);
  EXPECT_TRUE(a.insert(std::move(handle)).second);
  EXPECT_TRUE(b.insert(std::move(other)).second);
  EXPECT_EQ(a.at(2) + b.at(3), 50);
}

TEST(ConcurrentMap, Merge) {
  map m{{1, "a"}, {3, "c"}};
  tbb::concurrent_map<int, std::string, std::greater<int>> down{{3, "x"}, {2, "b"}};
  const std::string* const where = &down.at(2);
  m.merge(down);
  EXPECT_EQ(contents(m), kThree);
  EXPECT_EQ(&m.at(2), where);
  EXPECT_EQ(contents(down), (pairs{{3, "x"}}));
  multimap many{{3, "y"}, {4, "d"}, {4, "e"}};
  m.merge(many);
  EXPECT_EQ(m.size(), 4U);
  EXPECT_EQ(many.size(), 2U);
  many.merge(std::move(m));
  many.merge(std::move(down));
  many.merge(multimap{{9, "i"}});
  m.merge(map{{1, "new"}});
  EXPECT_EQ(many.size(), 8U);
  EXPECT_EQ(contents(m), (pairs{{1, "new"}}));
  m.merge(m);
  EXPECT_EQ(m.size(), 1U);
  std::multimap<int, std::string> expected;
  for (const auto& [key, value] : many) {
    expected.emplace(key, value);
    EXPECT_EQ(many.count(key), key == 3 ? 3U : key == 4 ? 2U : 1U);
  }
  EXPECT_EQ(expected.size(), 8U);
}

TEST(ConcurrentMultimap, KeepsEqualKeysInTheOrderOfInsertion) {
  multimap m;
  for (int i = 0; i < 300; ++i) {
    const auto result = m.insert({i % 3, std::to_string(i)});
    EXPECT_TRUE(result.second);
    EXPECT_EQ(result.first->second, std::to_string(i));
  }
  int next = 1;
  const auto range = m.equal_range(1);
  for (auto i = range.first; i != range.second; ++i, next += 3) {
    EXPECT_EQ(i->second, std::to_string(next));
  }
  EXPECT_EQ(next, 301);
  EXPECT_EQ(m.count(1), 100U);
  EXPECT_EQ(m.find(2)->second, "2");
  // One in the middle of many that are equal.
  auto middle = m.lower_bound(1);
  for (int i = 0; i < 50; ++i) ++middle;
  EXPECT_EQ(middle->second, "151");
  EXPECT_EQ(m.unsafe_erase(middle)->second, "154");
  EXPECT_EQ(m.unsafe_extract(1).mapped(), "1");
  EXPECT_EQ(m.count(1), 98U);
  EXPECT_EQ(m.unsafe_erase(1), 98U);
  EXPECT_EQ(m.size(), 200U);
  EXPECT_EQ(m.emplace_hint(m.begin(), 1, "x")->second, "x");
}

TEST(ConcurrentMap, Comparisons) {
  const map a{{1, "a"}}, b{{1, "b"}}, ab{{1, "a"}, {2, "b"}};
  EXPECT_TRUE(a == a && a <= a && a >= a && !(a != a) && !(a < a) && !(a > a));
  EXPECT_TRUE(a != b && a < b && b > a && a <= b && b >= a);
  EXPECT_TRUE(a != ab && a < ab && ab < b && map() < a && map() == map());
}

template <typename Range>
void split_completely(Range range, std::vector<int>& keys) {
  while (range.is_divisible()) {
    Range right(range, tbb::split());
    EXPECT_FALSE(range.empty() || right.empty());
    EXPECT_EQ(range.end(), right.begin());
    Range left = range;
    split_completely(left, keys);
    range = right;
  }
  EXPECT_LE(range.size(), 1U);
  for (const auto& element : range) keys.push_back(element.first);
}

TEST(ConcurrentMap, RangesSplitIntoSingleElements) {
  for (const int count : {0, 1, 2, 3, 1000}) {
    map m;
    std::vector<int> expected, keys, const_keys;
    for (int i = 0; i < count; ++i) {
      m.emplace((i * 7919) % 100003, "");
      EXPECT_EQ(m.range().size(), m.size());
    }
    for (const auto& element : m) expected.push_back(element.first);
    EXPECT_EQ(m.range().empty(), count == 0);
    EXPECT_EQ(m.range().grainsize(), 1U);
    split_completely(m.range(), keys);
    split_completely(map::const_range_type(m.range()), const_keys);
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(const_keys, expected);
    if (count < 1000) continue;
    auto range = std::as_const(m).range();
    decltype(range) right(range, tbb::split());
    EXPECT_GT(range.size(), 50U);
    EXPECT_GT(right.size(), 50U);
  }
}

TEST(ConcurrentMap, DeductionGuides) {
  const std::allocator<std::pair<const int, std::string>> allocator;
  const std::greater<int> down;
  using down_map = tbb::concurrent_map<int, std::string, std::greater<int>>;
  const auto b = kThree.begin(), e = kThree.end();
  static_assert(std::is_same_v<decltype(tbb::concurrent_map(b, e)), map>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_map(b, e, down)), down_map>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_map(b, e, allocator))::allocator_type,
                               std::allocator<std::pair<const int, std::string>>>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_map({std::pair(1, 2L)})),
                               tbb::concurrent_map<int, long>>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_map({std::pair(1, 2L)}, down)),
                               tbb::concurrent_map<int, long, std::greater<int>>>);
  const map from;
  static_assert(std::is_same_v<decltype(tbb::concurrent_map(from)), map>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_map(from, from.get_allocator())), map>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_multimap(b, e)), multimap>);
  static_assert(
      std::is_same_v<decltype(tbb::concurrent_multimap({std::pair(1, 2L)}, allocator)),
                     tbb::concurrent_multimap<int, long, std::less<int>,
                                              std::allocator<std::pair<const int, std::string>>>>);
}

TEST(ConcurrentMap, ManyElementsAreSorted) {
  tbb::concurrent_map<unsigned, unsigned> m;
  std::map<unsigned, unsigned> expected;
  for (unsigned i = 0; i < 20000; ++i) {
    const unsigned key = i * 2654435761U >> 12;
    EXPECT_EQ(m.emplace(key, i).second, expected.emplace(key, i).second);
  }
  EXPECT_EQ(m.size(), expected.size());
  EXPECT_TRUE(std::equal(m.begin(), m.end(), expected.begin(), expected.end()));
  const tbb::concurrent_map<unsigned, unsigned> copy(m);
  EXPECT_EQ(copy, m);
  for (const auto& [key, value] : expected) EXPECT_EQ(copy.find(key)->second, value);
}

struct alignas(64) wide {
  int value;
};
TEST(ConcurrentMap, OverAlignedElements) {
  tbb::concurrent_map<int, wide> m;
  for (int i = 0; i < 100; ++i) m[i].value = i;
  for (const auto& [key, value] : m) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&value) % 64, 0U);
    EXPECT_EQ(value.value, key);
  }
}

}  // namespace
}  // namespace corbel::test
