// SPDX-License-Identifier: Apache-2.0
// concurrent_set and concurrent_multiset: what is not the same as in the maps, in one thread.
#include <gtest/gtest.h>
#include <tbb/concurrent_set.h>

#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace corbel::test {
namespace {

using set = tbb::concurrent_set<std::string>;
using multiset = tbb::concurrent_multiset<std::string>;

template <typename Set>
std::string contents(const Set& s) {
  std::string all;
  for (const auto& element : s) all += element;
  EXPECT_EQ(std::size_t(std::distance(s.begin(), s.end())), s.size());
  return all;
}

static_assert(std::is_same_v<set::key_type, std::string>);
static_assert(std::is_same_v<set::value_type, std::string>);
static_assert(std::is_same_v<set::value_compare, std::less<std::string>>);
static_assert(std::is_same_v<set::key_compare, set::value_compare>);
static_assert(std::is_same_v<set::allocator_type, tbb::tbb_allocator<std::string>>);
static_assert(std::is_same_v<set::node_type, multiset::node_type>);
static_assert(std::is_same_v<set::node_type::value_type, std::string>);

TEST(ConcurrentSet, Constructors) {
  const tbb::tbb_allocator<std::string> allocator;
  const std::vector<std::string> from = {"c", "a", "b", "a"};
  const std::less<std::string> less;
  EXPECT_EQ(contents(set()), "");
  EXPECT_EQ(contents(set(less)), "");
  EXPECT_EQ(contents(set(less, allocator)), "");
  EXPECT_EQ(contents(set(allocator)), "");
  EXPECT_EQ(contents(set(from.begin(), from.end())), "abc");
  EXPECT_EQ(contents(set(from.begin(), from.end(), less)), "abc");
  EXPECT_EQ(contents(set(from.begin(), from.end(), less, allocator)), "abc");
  EXPECT_EQ(contents(set(from.begin(), from.end(), allocator)), "abc");
  EXPECT_EQ(contents(set{"b", "a", "b"}), "ab");
  EXPECT_EQ(contents(set({"b", "a"}, less)), "ab");
  EXPECT_EQ(contents(set({"b", "a"}, less, allocator)), "ab");
  EXPECT_EQ(contents(set({"b", "a"}, allocator)), "ab");
  EXPECT_EQ(contents(multiset(from.begin(), from.end())), "aabc");
  EXPECT_EQ(contents(multiset{"b", "a", "b"}), "abb");
  set s{"x", "y"};
  EXPECT_EQ(contents(set(s)), "xy");
  EXPECT_EQ(contents(set(s, allocator)), "xy");
  EXPECT_EQ(contents(set(set(s))), "xy");
  EXPECT_EQ(contents(set(std::move(s), allocator)), "xy");
  EXPECT_EQ(contents(s), "");
  s = {"q", "p"};
  EXPECT_EQ(contents(s), "pq");
  set t;
  t = s;
  EXPECT_EQ(t, s);
  t = std::move(s);
  swap(s, t);
  EXPECT_EQ(contents(s), "pq");
}

TEST(ConcurrentSet, Insertions) {
  set s;
  std::string a = "a";
  EXPECT_TRUE(s.insert(a).second);
  EXPECT_FALSE(s.insert(a).second);
  EXPECT_TRUE(s.insert(std::string("b")).second);
  EXPECT_TRUE(s.insert("c").second);
  std::string moved(100, 'd');
  EXPECT_TRUE(s.insert(std::move(moved)).second);
  EXPECT_EQ(*s.insert(s.begin(), a), "a");
  EXPECT_EQ(*s.insert(s.end(), std::string("e")), "e");
  EXPECT_TRUE(s.emplace(std::size_t(2), 'f').second);
  EXPECT_FALSE(s.emplace("ff").second);
  EXPECT_EQ(*s.emplace_hint(s.begin(), "g"), "g");
  s.insert({"i", "h"});
  const std::set<std::string> more = {"j", "a"};
  s.insert(more.begin(), more.end());
  EXPECT_EQ(contents(s), "abc" + std::string(100, 'd') + "effghij");
  multiset m;
  EXPECT_TRUE(m.insert(a).second);
  EXPECT_TRUE(m.insert(a).second);
  EXPECT_TRUE(m.emplace("a").second);
  EXPECT_EQ(m.count("a"), 3U);
  tbb::concurrent_set<std::unique_ptr<int>> only_movable;
  EXPECT_TRUE(only_movable.insert(std::make_unique<int>(1)).second);
  EXPECT_TRUE(only_movable.emplace(new int(2)).second);
}

TEST(ConcurrentSet, LookupsAndErasure) {
  tbb::concurrent_set<std::string, std::less<>> s{"a", "c", "e"};
  const auto& c = s;
  const std::string_view view = "c", missing = "d";
  EXPECT_EQ(*s.find(view), "c");
  EXPECT_EQ(c.find(missing), c.end());
  EXPECT_TRUE(c.contains("e"));
  EXPECT_EQ(c.count(missing), 0U);
  EXPECT_EQ(*c.lower_bound(missing), "e");
  EXPECT_EQ(*c.upper_bound(view), "e");
  EXPECT_EQ(*s.equal_range(view).first, "c");
  EXPECT_TRUE(s.key_comp()(std::string("a"), "b"));
  EXPECT_FALSE(s.value_comp()(view, std::string("b")));
  EXPECT_EQ(s.unsafe_erase(view), 1U);
  EXPECT_EQ(s.unsafe_erase("x"), 0U);
  EXPECT_EQ(*s.unsafe_erase(s.begin()), "e");
  EXPECT_EQ(s.unsafe_erase(s.cbegin()), s.end());
  EXPECT_TRUE(s.empty());
}

TEST(ConcurrentSet, NodeHandlesAndMerge) {
  set s{"a", "b"};
  set::node_type handle = s.unsafe_extract("a");
  handle.value() = "c";
  EXPECT_TRUE(s.insert(std::move(handle)).second);
  multiset m{"b", "b", "d"};
  s.merge(m);
  EXPECT_EQ(contents(s), "bcd");
  EXPECT_EQ(contents(m), "bb");
  tbb::concurrent_set<std::string, std::greater<std::string>> down{"y", "x"};
  m.merge(std::move(down));
  m.merge(s);
  s.merge(std::move(m));
  EXPECT_EQ(contents(s), "bcdxy");
  EXPECT_EQ(contents(m), "bb");
  const multiset b{"b"};
  EXPECT_TRUE(b < m && m != b && m >= b);
}

TEST(ConcurrentSet, DeductionGuides) {
  const std::vector<int> from = {1};
  using plain = tbb::concurrent_set<int>;
  using multi = tbb::concurrent_multiset<int, std::less<int>, std::allocator<int>>;
  const std::allocator<int> allocator;
  static_assert(std::is_same_v<decltype(tbb::concurrent_set(from.begin(), from.end())), plain>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_set({1, 2})), plain>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_set({1, 2}, std::greater<int>())),
                               tbb::concurrent_set<int, std::greater<int>>>);
  static_assert(
      std::is_same_v<decltype(tbb::concurrent_multiset(from.begin(), from.end(), allocator)),
                     multi>);
  static_assert(std::is_same_v<decltype(tbb::concurrent_multiset({1}, allocator)), multi>);
}

}  // namespace
}  // namespace corbel::test
