// SPDX-License-Identifier: Apache-2.0
// concurrent_hash_map: each documented sentence that one thread can check.
#include <tbb/concurrent_hash_map.h>
#include <tbb/spin_rw_mutex.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

namespace {

using map = tbb::concurrent_hash_map<int, std::string>;
using element = map::value_type;

template <typename Map>
std::set<std::pair<typename Map::key_type, typename Map::mapped_type>> contents(const Map& m) {
  return {m.begin(), m.end()};
}
using set = std::set<std::pair<int, std::string>>;

// ---- types

static_assert(std::is_same_v<map::key_type, int>);
static_assert(std::is_same_v<map::mapped_type, std::string>);
static_assert(std::is_same_v<map::value_type, std::pair<const int, std::string>>);
static_assert(std::is_same_v<map::allocator_type, tbb::tbb_allocator<element>>);
static_assert(std::is_same_v<map::size_type, std::size_t>);
static_assert(std::is_same_v<map::difference_type, std::ptrdiff_t>);
static_assert(std::is_same_v<map::reference, element&>);
static_assert(std::is_same_v<map::const_pointer, const element*>);
static_assert(std::is_same_v<map::accessor::value_type, element>);
static_assert(std::is_same_v<map::const_accessor::value_type, const element>);
static_assert(std::is_same_v<decltype(*std::declval<map::const_accessor&>()), const element&>);
static_assert(std::is_same_v<decltype(*std::declval<map::accessor&>()), element&>);
static_assert(std::is_base_of_v<map::const_accessor, map::accessor>);
static_assert(!std::is_copy_constructible_v<map::accessor>);
static_assert(std::is_convertible_v<map::iterator, map::const_iterator>);
static_assert(!std::is_convertible_v<map::const_iterator, map::iterator>);
static_assert(std::is_nothrow_swappable_v<map>);
static_assert(std::is_nothrow_move_assignable_v<map>);
static_assert(std::is_same_v<std::iterator_traits<map::iterator>::iterator_category,
                             std::forward_iterator_tag>);
static_assert(sizeof(map) <= 640, "not larger than that of other libraries");

// ---- construction

TEST(ConcurrentHashMap, NamesAMutex) {
  using Map = tbb::concurrent_hash_map<int, int, tbb::tbb_hash_compare<int>,
                                       tbb::tbb_allocator<std::pair<const int, int>>, std::mutex>;
  static_assert(std::is_same<Map::mutex_type, std::mutex>::value, "the fifth parameter");
  static_assert(
      std::is_same<tbb::concurrent_hash_map<int, int>::mutex_type, tbb::spin_rw_mutex>::value,
      "the default");
  Map map;
  Map::accessor at;
  EXPECT_TRUE(map.insert(at, 1));
}

TEST(ConcurrentHashMap, EveryConstructor) {
  const tbb::tbb_hash_compare<int> compare;
  const map::allocator_type allocator;
  const std::vector<std::pair<int, std::string>> list{{1, "a"}, {2, "b"}, {1, "c"}};
  const set expected{{1, "a"}, {2, "b"}};

  EXPECT_TRUE(map().empty());
  EXPECT_TRUE(map(allocator).empty());
  EXPECT_TRUE(map(compare).empty());
  EXPECT_TRUE(map(compare, allocator).empty());
  EXPECT_GE(map(1000).bucket_count(), 1000u);
  EXPECT_GE(map(1000, allocator).bucket_count(), 1000u);
  EXPECT_GE(map(1000, compare).bucket_count(), 1000u);
  EXPECT_GE(map(1000, compare, allocator).bucket_count(), 1000u);
  EXPECT_EQ(contents(map(list.begin(), list.end())), expected);
  EXPECT_EQ(contents(map(list.begin(), list.end(), allocator)), expected);
  EXPECT_EQ(contents(map(list.begin(), list.end(), compare)), expected);
  EXPECT_EQ(contents(map(list.begin(), list.end(), compare, allocator)), expected);
  EXPECT_EQ(contents(map{{1, "a"}, {2, "b"}}), expected);
  EXPECT_EQ(contents(map({{1, "a"}, {2, "b"}}, allocator)), expected);
  EXPECT_EQ(contents(map({{1, "a"}, {2, "b"}}, compare)), expected);
  EXPECT_EQ(contents(map({{1, "a"}, {2, "b"}}, compare, allocator)), expected);

  map original(list.begin(), list.end());
  const map copy(original);
  EXPECT_EQ(contents(copy), expected);
  EXPECT_EQ(contents(map(original, allocator)), expected);
  map moved(std::move(original));
  EXPECT_EQ(contents(moved), expected);
  EXPECT_TRUE(original.empty());
  EXPECT_TRUE(original.insert(element(1, "x")));
  EXPECT_EQ(contents(map(std::move(moved), allocator)), expected);
}

TEST(ConcurrentHashMap, Assignment) {
  const set expected{{1, "a"}, {2, "b"}};
  map a{{1, "a"}, {2, "b"}};
  map b{{3, "c"}};
  b = a;
  EXPECT_EQ(contents(b), expected);
  EXPECT_EQ(contents(a), expected);
  map& self = b;
  b = self;
  EXPECT_EQ(contents(b), expected);
  map c{{4, "d"}};
  c = std::move(b);
  EXPECT_EQ(contents(c), expected);
  EXPECT_TRUE(b.empty());
  b = {{5, "e"}, {6, "f"}};
  EXPECT_EQ(contents(b), (set{{5, "e"}, {6, "f"}}));
  swap(b, c);
  EXPECT_EQ(contents(b), expected);
  b.swap(c);
  EXPECT_EQ(contents(c), expected);
}

TEST(ConcurrentHashMap, ManyElementsAreCopiedMovedAndSwapped) {
  map a;
  for (int i = 0; i < 3000; ++i) a.insert(element(i, std::to_string(i)));
  for (int i = 0; i < 1000; ++i) a.erase(i);
  map b(a);
  EXPECT_TRUE(a == b);
  map c;
  c.swap(b);
  EXPECT_TRUE(b.empty());
  EXPECT_TRUE(a == c);
  b = std::move(c);
  EXPECT_TRUE(a == b);
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(b.count(i), i < 1000 ? 0u : 1u);
  for (int i = 3000; i < 9000; ++i) EXPECT_TRUE(b.insert(element(i, "")));
  EXPECT_EQ(b.size(), 8000u);
}

TEST(ConcurrentHashMap, DeductionGuides) {
  const std::vector<std::pair<const int, std::string>> list{{1, "a"}};
  const tbb::tbb_hash_compare<int> compare;
  const std::allocator<element> allocator;
  tbb::concurrent_hash_map a(list.begin(), list.end());
  tbb::concurrent_hash_map b(list.begin(), list.end(), compare);
  tbb::concurrent_hash_map c(list.begin(), list.end(), allocator);
  tbb::concurrent_hash_map d(list.begin(), list.end(), compare, allocator);
  tbb::concurrent_hash_map e({element(1, "a")});
  tbb::concurrent_hash_map f({element(1, "a")}, compare);
  tbb::concurrent_hash_map g({element(1, "a")}, allocator);
  tbb::concurrent_hash_map h({element(1, "a")}, compare, allocator);
  tbb::concurrent_hash_map i(a);
  using other_map = tbb::concurrent_hash_map<int, std::string, tbb::tbb_hash_compare<int>,
                                             std::allocator<element>>;
  static_assert(std::is_same_v<decltype(a), map> && std::is_same_v<decltype(b), map>);
  static_assert(std::is_same_v<decltype(c), other_map> && std::is_same_v<decltype(d), other_map>);
  static_assert(std::is_same_v<decltype(e), map> && std::is_same_v<decltype(f), map>);
  static_assert(std::is_same_v<decltype(g), other_map> && std::is_same_v<decltype(h), other_map>);
  static_assert(std::is_same_v<decltype(i), map>);
}

// ---- accessors

TEST(ConcurrentHashMap, AccessorsPointToElements) {
  map m{{1, "a"}, {2, "b"}};
  map::const_accessor reader;
  EXPECT_TRUE(reader.empty());
  reader.release();
  EXPECT_TRUE(m.find(reader, 1));
  EXPECT_FALSE(reader.empty());
  EXPECT_EQ(reader->second, "a");
  EXPECT_EQ((*reader).first, 1);
  map::const_accessor another;
  EXPECT_TRUE(m.find(another, 1));  // readers do not exclude each other
  EXPECT_FALSE(m.find(reader, 3));
  EXPECT_TRUE(reader.empty());  // released first
  another.release();
  map::accessor writer;
  EXPECT_TRUE(m.find(writer, 1));
  writer->second = "c";
  EXPECT_TRUE(m.find(writer, 2));  // releases element 1
  EXPECT_TRUE(m.find(reader, 1));
  EXPECT_EQ(reader->second, "c");
  writer.release();
  // An accessor that find() gets as a const_accessor only reads.
  EXPECT_TRUE(m.find(static_cast<map::const_accessor&>(writer), 1));
  EXPECT_EQ(writer->second, "c");
}

TEST(ConcurrentHashMap, CountAndInsertDoNotWaitForAccessors) {
  map m{{1, "a"}};
  map::accessor writer;
  ASSERT_TRUE(m.find(writer, 1));
  EXPECT_EQ(m.count(1), 1u);
  EXPECT_EQ(m.count(2), 0u);
  EXPECT_FALSE(m.insert(element(1, "b")));
  EXPECT_FALSE(m.emplace(1, "b"));
  EXPECT_TRUE(m.insert(element(2, "b")));
}

TEST(ConcurrentHashMap, ErasesUnderAccessors) {
  for (const bool writes : {true, false}) {
    const auto value = std::make_shared<int>(0);
    tbb::concurrent_hash_map<std::string, std::shared_ptr<int>> pointers{{"a", value}};
    decltype(pointers)::accessor writer;
    decltype(pointers)::const_accessor reader;
    auto& held = writes ? writer : reader;
    ASSERT_TRUE(writes ? pointers.find(writer, "a") : pointers.find(reader, "a"));
    EXPECT_TRUE(pointers.erase("a"));
    EXPECT_EQ(pointers.size(), 0u);
    EXPECT_EQ(pointers.count("a"), 0u);
    EXPECT_EQ(value.use_count(), 2);  // destroyed when it is released
    EXPECT_TRUE(pointers.insert({"a", nullptr}));
    EXPECT_EQ(held->second, value);
    held.release();
    EXPECT_EQ(value.use_count(), 1);
  }
}

TEST(ConcurrentHashMap, ErasesTheElementOfAnAccessor) {
  map m{{1, "a"}, {2, "b"}, {3, "c"}};
  map::accessor writer;
  map::const_accessor reader;
  map::const_accessor another;
  ASSERT_TRUE(m.find(writer, 1));
  EXPECT_TRUE(m.erase(writer));
  EXPECT_TRUE(writer.empty());
  ASSERT_TRUE(m.find(reader, 2));
  ASSERT_TRUE(m.find(another, 2));
  EXPECT_TRUE(m.erase(reader));
  EXPECT_TRUE(reader.empty());
  EXPECT_EQ(another->second, "b");
  EXPECT_FALSE(m.erase(another));  // erased already
  EXPECT_TRUE(another.empty());
  EXPECT_EQ(contents(m), (set{{3, "c"}}));
  ASSERT_TRUE(m.find(writer, 3));
  EXPECT_TRUE(m.erase(3));
  EXPECT_FALSE(m.erase(writer));
  EXPECT_TRUE(m.empty());
  EXPECT_FALSE(m.erase(3));
}

// Values are destroyed by the time the erasing function returns.
TEST(ConcurrentHashMap, DestroysAtOnce) {
  const auto value = std::make_shared<int>(0);
  tbb::concurrent_hash_map<std::string, std::shared_ptr<int>> m;
  for (int i = 0; i < 200; ++i) m.insert({std::to_string(i), value});
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(value.use_count(), 201 - i);
    EXPECT_TRUE(m.erase(std::to_string(i)));
  }
  m.insert({"a", value});
  m.clear();
  EXPECT_EQ(value.use_count(), 1);
}

// ---- inserting

TEST(ConcurrentHashMap, EveryInsert) {
  map m;
  map::accessor writer;
  map::const_accessor reader;
  EXPECT_TRUE(m.insert(writer, 1));
  EXPECT_EQ(writer->second, "");
  writer->second = "a";
  EXPECT_FALSE(m.insert(writer, 1));
  EXPECT_EQ(writer->second, "a");
  writer.release();
  EXPECT_TRUE(m.insert(reader, 2));
  EXPECT_FALSE(m.insert(reader, 1));
  EXPECT_EQ(reader->second, "a");
  reader.release();
  const element three(3, "c");
  EXPECT_TRUE(m.insert(writer, three));
  writer.release();
  const element four(4, "d");
  EXPECT_TRUE(m.insert(reader, four));
  EXPECT_TRUE(m.insert(reader, element(5, "e")));
  EXPECT_TRUE(m.insert(writer, element(6, "f")));
  EXPECT_TRUE(m.insert(std::make_pair(7, "g")));
  EXPECT_TRUE(m.insert({8, "h"}));
  EXPECT_FALSE(m.insert(element(8, "i")));
  EXPECT_TRUE(m.emplace(9, "j"));
  EXPECT_TRUE(m.emplace(writer, 10, "k"));
  EXPECT_TRUE(m.emplace(reader, std::piecewise_construct, std::forward_as_tuple(11),
                        std::forward_as_tuple(2, 'l')));
  writer.release();
  EXPECT_FALSE(m.emplace(reader, 10, "z"));
  const std::vector<std::pair<int, std::string>> list{{12, "m"}, {1, "z"}};
  m.insert(list.begin(), list.end());
  m.insert({element(13, "n"), element(2, "z")});
  EXPECT_EQ(contents(m), (set{{1, "a"},
                              {2, ""},
                              {3, "c"},
                              {4, "d"},
                              {5, "e"},
                              {6, "f"},
                              {7, "g"},
                              {8, "h"},
                              {9, "j"},
                              {10, "k"},
                              {11, "ll"},
                              {12, "m"},
                              {13, "n"}}));
}

TEST(ConcurrentHashMap, MovesValues) {
  tbb::concurrent_hash_map<int, std::unique_ptr<int>> m;
  decltype(m)::accessor writer;
  EXPECT_TRUE(m.insert(decltype(m)::value_type(1, std::make_unique<int>(1))));
  EXPECT_TRUE(m.insert(writer, decltype(m)::value_type(2, std::make_unique<int>(2))));
  EXPECT_TRUE(m.emplace(3, std::make_unique<int>(3)));
  decltype(m)::value_type kept(3, std::make_unique<int>(4));
  EXPECT_FALSE(m.insert(std::move(kept)));
  EXPECT_NE(kept.second, nullptr);  // not moved from: there is such an element
  EXPECT_EQ(*writer->second, 2);
}

// ---- iteration and size

TEST(ConcurrentHashMap, Iterates) {
  map m;
  EXPECT_TRUE(m.begin() == m.end());
  set expected;
  for (int i = 0; i < 1000; ++i) {
    m.insert({i * 1024, "x"});
    expected.insert({i * 1024, "x"});
    if (i % 100 == 0) {
      EXPECT_EQ(contents(m), expected);
    }
  }
  for (element& e : m) e.second = "y";
  const map& constant = m;
  for (const element& e : constant) EXPECT_EQ(e.second, "y");
  EXPECT_EQ(std::distance(constant.begin(), constant.end()), 1000);
  EXPECT_TRUE(m.begin() == constant.begin());
  EXPECT_FALSE(constant.cbegin() != m.begin());
  map::iterator i = m.begin();
  EXPECT_EQ(i++->second, "y");
  EXPECT_EQ(map::iterator(), map::iterator());
}

TEST(ConcurrentHashMap, EqualRange) {
  map m{{1, "a"}, {2, "b"}};
  const auto found = m.equal_range(1);
  ASSERT_EQ(std::distance(found.first, found.second), 1);
  EXPECT_EQ(found.first->second, "a");
  const auto missing = m.equal_range(3);
  EXPECT_TRUE(missing.first == missing.second);
  const map& constant = m;
  EXPECT_EQ(constant.equal_range(2).first->second, "b");
}

// Not at the same time, but by the same thread.
TEST(ConcurrentHashMap, KeepsIteratorsAcrossInsertions) {
  tbb::concurrent_hash_map<int, int> m;
  for (int i = 0; i < 20; ++i) m.insert({i, i});
  std::size_t seen = 0;
  for (auto i = m.begin(); i != m.end(); ++i) {
    const int key = i->first;
    for (int n = 0; n < 100 && m.size() < 2000; ++n) m.insert({int(m.size()), 0});
    EXPECT_EQ(i->first, key);
    ++seen;
  }
  EXPECT_GE(seen, 20u);
}

TEST(ConcurrentHashMap, RangesSplit) {
  tbb::concurrent_hash_map<int, int> m;
  EXPECT_TRUE(m.range().empty());
  EXPECT_FALSE(m.range().is_divisible());
  for (int i = 0; i < 5000; ++i) m.insert({i, 0});
  tbb::parallel_for(m.range(16), [](decltype(m)::range_type& range) {
    EXPECT_EQ(range.grainsize(), 16u);
    for (auto& e : range) ++e.second;
  });
  const auto& constant = m;
  const int sum = tbb::parallel_reduce(
      constant.range(), 0,
      [](const decltype(m)::const_range_type& range, int before) {
        for (const auto& e : range) before += e.second;
        return before;
      },
      [](int a, int b) { return a + b; });
  EXPECT_EQ(sum, 5000);
  for (const auto& e : m) EXPECT_EQ(e.second, 1);
  decltype(m)::const_range_type converted(m.range(7));
  EXPECT_EQ(converted.grainsize(), 7u);
  decltype(m)::const_range_type half(converted, tbb::split());
  EXPECT_EQ(
      std::distance(half.begin(), half.end()) + std::distance(converted.begin(), converted.end()),
      5000);
}

TEST(ConcurrentHashMap, Buckets) {
  tbb::concurrent_hash_map<int, int> m(100);
  const std::size_t before = m.bucket_count();
  EXPECT_GE(before, 100u);
  m.rehash();
  m.rehash(50);
  EXPECT_EQ(m.bucket_count(), before);
  for (int i = 0; i < 300; ++i) m.insert({i, i});
  m.rehash(5000);
  EXPECT_GE(m.bucket_count(), 5000u);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(m.count(i), 1u);
  EXPECT_EQ(std::distance(m.begin(), m.end()), 300);
  EXPECT_EQ(m.size(), 300u);
  EXPECT_GT(m.max_size(), 1000000u);
  m.clear();
  EXPECT_TRUE(m.empty());
  EXPECT_TRUE(m.begin() == m.end());
  EXPECT_TRUE(m.insert({1, 1}));
}

TEST(ConcurrentHashMap, Comparison) {
  const map a{{1, "a"}, {2, "b"}};
  EXPECT_TRUE(a == (map{{2, "b"}, {1, "a"}}));
  EXPECT_TRUE(a != (map{{1, "a"}}));
  EXPECT_TRUE(a != (map{{1, "a"}, {2, "c"}}));
  EXPECT_TRUE(a != (map{{1, "a"}, {3, "b"}}));
}

}  // namespace
