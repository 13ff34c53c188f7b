// SPDX-License-Identifier: Apache-2.0
// The concurrent unordered containers: each documented sentence, in one thread.
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "unordered_helpers.hpp"

namespace corbel::test {
namespace {

template <typename V>
using allocator = counting_allocator<V>;
using pair = std::pair<const int, int>;
struct hash : std::hash<int> {};
struct equal : std::equal_to<int> {};

using map = tbb::concurrent_unordered_map<int, int, hash, equal, allocator<pair>>;
using multimap = tbb::concurrent_unordered_multimap<int, int, hash, equal, allocator<pair>>;
using set = tbb::concurrent_unordered_set<int, hash, equal, allocator<int>>;
using multiset = tbb::concurrent_unordered_multiset<int, hash, equal, allocator<int>>;

// What the tests need to know of a container.
template <typename C>
constexpr bool kIsMap = !std::is_same_v<typename C::key_type, typename C::value_type>;
template <typename C>
constexpr bool kIsMulti = std::is_same_v<C, multimap> || std::is_same_v<C, multiset>;

template <typename C>
typename C::value_type element(int key) {
  if constexpr (kIsMap<C>) {
    return {key, key * 10};
  } else {
    return key;
  }
}
int key_of(int value) { return value; }
int key_of(const pair& value) { return value.first; }

template <typename C>
std::vector<typename C::value_type> elements(int first, int last) {
  std::vector<typename C::value_type> made;
  for (int key = first; key < last; ++key) made.push_back(element<C>(key));
  return made;
}
template <typename C>
std::vector<int> keys(const C& of) {
  std::vector<int> found;
  for (const auto& each : of) found.push_back(key_of(each));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found.size(), of.size());
  return found;
}
std::vector<int> numbers(int first, int last) {
  std::vector<int> made;
  for (int i = first; i < last; ++i) made.push_back(i);
  return made;
}

template <typename C>
struct Unordered : testing::Test {
  void TearDown() override {
    for (int n = 0; n < 4; ++n) {
      EXPECT_EQ(memory_of(n).blocks, 0);
      EXPECT_EQ(memory_of(n).bytes, 0);
    }
  }
};
using containers = testing::Types<map, multimap, set, multiset>;
TYPED_TEST_SUITE(Unordered, containers);

TYPED_TEST(Unordered, MemberTypes) {
  using C = TypeParam;
  static_assert(std::is_same_v<typename C::hasher, hash>);
  static_assert(std::is_same_v<typename C::key_equal, equal>);
  static_assert(std::is_same_v<typename C::size_type, std::size_t>);
  static_assert(std::is_same_v<typename C::difference_type, std::ptrdiff_t>);
  static_assert(std::is_same_v<typename C::reference, typename C::value_type&>);
  static_assert(std::is_same_v<typename C::const_reference, const typename C::value_type&>);
  static_assert(std::is_same_v<typename C::pointer, typename C::value_type*>);
  static_assert(std::is_same_v<typename C::allocator_type::value_type, typename C::value_type>);
  static_assert(std::is_convertible_v<typename C::iterator, typename C::const_iterator>);
  static_assert(!std::is_convertible_v<typename C::const_iterator, typename C::iterator>);
  static_assert(std::is_nothrow_move_constructible_v<C>);
  static_assert(std::is_nothrow_swappable_v<C>);
#if defined(__cpp_lib_ranges)
  static_assert(std::forward_iterator<typename C::iterator>);
  static_assert(std::forward_iterator<typename C::const_iterator>);
#endif
}

TYPED_TEST(Unordered, Constructors) {
  using C = TypeParam;
  using A = typename C::allocator_type;
  const auto values = elements<C>(0, 20);
  const auto some = numbers(0, 20);
  const A a(1);
  EXPECT_EQ(keys(C()), numbers(0, 0));
  EXPECT_EQ(keys(C(100)), numbers(0, 0));
  EXPECT_GE(C(100).unsafe_bucket_count(), 100u);
  EXPECT_EQ(C(100, hash(), equal()).get_allocator().number, 0);
  EXPECT_EQ(C(100, hash(), equal(), a).get_allocator().number, 1);
  EXPECT_EQ(C(100, a).get_allocator().number, 1);
  EXPECT_EQ(C(100, hash(), a).get_allocator().number, 1);
  EXPECT_EQ(C(a).get_allocator().number, 1);
  EXPECT_EQ(keys(C(values.begin(), values.end())), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7)), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7, hash())), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7, hash(), equal())), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7, hash(), equal(), a)), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7, a)), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), 7, hash(), a)), some);
  EXPECT_EQ(keys(C(values.begin(), values.end(), a)), some);
  const std::initializer_list<typename C::value_type> list = {element<C>(0), element<C>(1)};
  EXPECT_EQ(keys(C(list)), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99)), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99, hash())), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99, hash(), equal())), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99, hash(), equal(), a)), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99, a)), numbers(0, 2));
  EXPECT_EQ(keys(C(list, 99, hash(), a)), numbers(0, 2));
  EXPECT_EQ(keys(C(list, a)), numbers(0, 2));
  const C implicit = {element<C>(3), element<C>(4)};
  EXPECT_EQ(keys(implicit), numbers(3, 5));
}

TYPED_TEST(Unordered, CopiesAndMoves) {
  using C = TypeParam;
  using A = typename C::allocator_type;
  for (const int count : {0, 1, 5, 1000}) {
    const auto values = elements<C>(0, count);
    const auto some = numbers(0, count);
    C original(values.begin(), values.end(), A(1));
    const C copy(original);
    EXPECT_EQ(keys(copy), some);
    EXPECT_EQ(copy, original);
    EXPECT_EQ(copy.get_allocator().number, 1);
    for (int key = 0; key < count; ++key) EXPECT_TRUE(copy.contains(key));
    const C other(original, A(2));
    EXPECT_EQ(keys(other), some);
    EXPECT_EQ(other.get_allocator().number, 2);

    const auto* const first = count == 0 ? nullptr : &*original.begin();
    C moved(std::move(original));
    EXPECT_EQ(keys(moved), some);
    EXPECT_TRUE(count == 0 || first == &*moved.begin());
    EXPECT_EQ(keys(original), numbers(0, 0));
    original.insert(element<C>(7));
    EXPECT_EQ(keys(original), numbers(7, 8));
    C same(std::move(moved), A(1));
    EXPECT_TRUE(count == 0 || first == &*same.begin());
    EXPECT_EQ(keys(same), some);
    C elsewhere(std::move(same), A(3));
    EXPECT_TRUE(count == 0 || first != &*elsewhere.begin());
    EXPECT_EQ(keys(elsewhere), some);

    C assigned{element<C>(-1)};
    assigned = elsewhere;
    EXPECT_EQ(keys(assigned), some);
    EXPECT_EQ(assigned.get_allocator().number, 0);
    assigned = *&assigned;
    EXPECT_EQ(keys(assigned), some);
    assigned = std::move(elsewhere);
    EXPECT_EQ(keys(assigned), some);
    EXPECT_EQ(assigned.get_allocator().number, 0);
    assigned = {element<C>(1), element<C>(2)};
    EXPECT_EQ(keys(assigned), numbers(1, 3));
  }
}

TYPED_TEST(Unordered, Swaps) {
  using C = TypeParam;
  C a{element<C>(1)};
  C b{element<C>(2), element<C>(3)};
  b.max_load_factor(3);
  const auto in_a = a.begin();
  a.swap(b);
  EXPECT_EQ(keys(a), numbers(2, 4));
  EXPECT_EQ(keys(b), numbers(1, 2));
  EXPECT_EQ(b.begin(), in_a);
  EXPECT_EQ(a.max_load_factor(), 3);
  swap(a, b);
  EXPECT_EQ(keys(b), numbers(2, 4));
  using std::swap;
  swap(a, b);
  EXPECT_EQ(keys(a), numbers(2, 4));
}

TYPED_TEST(Unordered, Inserts) {
  using C = TypeParam;
  C c;
  const typename C::value_type value = element<C>(1);
  const auto at = [](const std::pair<typename C::iterator, bool>& result) {
    EXPECT_TRUE(result.second);
    return result.first;
  };
  EXPECT_EQ(key_of(*at(c.insert(value))), 1);
  EXPECT_EQ(key_of(*at(c.insert(element<C>(2)))), 2);
  EXPECT_EQ(key_of(*c.insert(c.cbegin(), element<C>(3))), 3);
  const typename C::value_type four = element<C>(4);
  EXPECT_EQ(key_of(*c.insert(c.cbegin(), four)), 4);
  if constexpr (kIsMap<C>) {
    EXPECT_EQ(key_of(*at(c.insert(std::pair<short, short>(5, 50)))), 5);
    EXPECT_EQ(key_of(*c.insert(c.cbegin(), std::pair<short, short>(6, 60))), 6);
    EXPECT_EQ(key_of(*at(c.emplace(7, 70))), 7);
    EXPECT_EQ(key_of(*c.emplace_hint(c.cbegin(), 8, 80)), 8);
  } else {
    EXPECT_EQ(key_of(*at(c.emplace(7))), 7);
    EXPECT_EQ(key_of(*c.emplace_hint(c.cbegin(), 8)), 8);
    c.insert({5, 6});
  }
  const auto more = elements<C>(9, 12);
  c.insert(more.begin(), more.end());
  c.insert({element<C>(12), element<C>(13)});
  EXPECT_EQ(keys(c), numbers(1, 14));

  const auto again = c.insert(value);
  if constexpr (kIsMulti<C>) {
    EXPECT_EQ(c.count(1), 2u);
    EXPECT_EQ(key_of(*at(again)), 1);
  } else {
    EXPECT_FALSE(again.second);
    EXPECT_EQ(again.first, c.find(1));
    EXPECT_EQ(c.count(1), 1u);
    EXPECT_FALSE(c.emplace(value).second);
  }
}

TYPED_TEST(Unordered, LooksUp) {
  using C = TypeParam;
  C c;
  const C& constant = c;
  EXPECT_EQ(c.find(1), c.end());
  EXPECT_EQ(c.begin(), c.end());
  EXPECT_FALSE(c.contains(1));
  const auto values = elements<C>(0, 3000);
  c.insert(values.begin(), values.end());
  for (int key = 0; key < 3000; ++key) {
    EXPECT_EQ(key_of(*c.find(key)), key);
    EXPECT_EQ(constant.find(key), c.find(key));
    EXPECT_TRUE(constant.contains(key));
    EXPECT_EQ(c.count(key), 1u);
    const auto range = c.equal_range(key);
    EXPECT_EQ(range.first, c.find(key));
    EXPECT_EQ(std::distance(range.first, range.second), 1);
  }
  for (int key = 3000; key < 6000; ++key) {
    EXPECT_EQ(c.find(key), c.end());
    EXPECT_EQ(constant.find(key), constant.end());
    EXPECT_EQ(constant.count(key), 0u);
    EXPECT_EQ(c.equal_range(key), std::pair(c.end(), c.end()));
    EXPECT_EQ(constant.equal_range(key), std::pair(constant.end(), constant.end()));
  }
}

TYPED_TEST(Unordered, EqualKeys) {
  using C = TypeParam;
  C c;
  for (int i = 0; i < 1000; ++i) c.insert(element<C>(i % 10));
  for (int key = 0; key < 10; ++key) {
    const std::size_t expected = kIsMulti<C> ? 100 : 1;
    EXPECT_EQ(c.count(key), expected);
    const auto range = c.equal_range(key);
    EXPECT_EQ(std::size_t(std::distance(range.first, range.second)), expected);
    EXPECT_TRUE(
        std::all_of(range.first, range.second, [&](const auto& e) { return key_of(e) == key; }));
  }
  EXPECT_EQ(c.unsafe_erase(3), kIsMulti<C> ? 100u : 1u);
  EXPECT_EQ(c.count(3), 0u);
  EXPECT_EQ(c.size(), kIsMulti<C> ? 900u : 9u);
}

TYPED_TEST(Unordered, Erases) {
  using C = TypeParam;
  const auto values = elements<C>(0, 100);
  C c(values.begin(), values.end());
  EXPECT_EQ(c.unsafe_erase(5), 1u);
  EXPECT_EQ(c.unsafe_erase(5), 0u);
  auto next = std::next(c.begin());
  const int first = key_of(*c.begin());
  EXPECT_EQ(c.unsafe_erase(c.begin()), next);
  EXPECT_FALSE(c.contains(first));
  next = std::next(c.begin());
  EXPECT_EQ(c.unsafe_erase(c.cbegin()), next);
  EXPECT_EQ(c.size(), 97u);
  next = std::next(c.begin(), 50);
  EXPECT_EQ(c.unsafe_erase(c.cbegin(), next), next);
  EXPECT_EQ(c.size(), 47u);
  EXPECT_EQ(c.begin(), next);
  EXPECT_EQ(c.unsafe_erase(c.cbegin(), c.cend()), c.end());
  EXPECT_TRUE(c.empty());
  c.insert(values.begin(), values.end());
  EXPECT_EQ(keys(c), numbers(0, 100));
  c.clear();
  EXPECT_TRUE(c.empty());
  EXPECT_EQ(c.begin(), c.end());
  c.insert(values.begin(), values.end());
  EXPECT_EQ(keys(c), numbers(0, 100));
  // The key of the call is one of the elements'.
  EXPECT_EQ(c.unsafe_erase(key_of(*c.begin())), 1u);
  // Each element, whatever bucket it is in.
  while (!c.empty()) c.unsafe_erase(std::next(c.begin(), long(c.size() / 2)));
  EXPECT_EQ(c.begin(), c.end());
}

TYPED_TEST(Unordered, NodeHandles) {
  using C = TypeParam;
  using handle = typename C::node_type;
  static_assert(!std::is_copy_constructible_v<handle>);
  static_assert(std::is_same_v<typename handle::allocator_type, typename C::allocator_type>);
  C c{element<C>(1), element<C>(2), element<C>(3)};
  const auto* const address = &*c.find(2);
  handle taken = c.unsafe_extract(2);
  EXPECT_FALSE(taken.empty());
  EXPECT_TRUE(bool(taken));
  EXPECT_EQ(taken.get_allocator().number, 0);
  EXPECT_EQ(c.size(), 2u);
  EXPECT_TRUE(c.unsafe_extract(2).empty());
  if constexpr (kIsMap<C>) {
    EXPECT_EQ(taken.key(), 2);
    EXPECT_EQ(taken.mapped(), 20);
    taken.key() = 4;
  } else {
    taken.value() = 4;
  }
  c.insert(std::move(taken));
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(&*c.find(4), address);

  taken = c.unsafe_extract(c.find(4));
  EXPECT_EQ(&*c.insert(c.cbegin(), std::move(taken)), address);
  taken = c.unsafe_extract(typename C::const_iterator(c.find(4)));
  handle other;
  swap(taken, other);
  taken.swap(other);
  c.insert(element<C>(4));
  const auto result = c.insert(std::move(taken));
  if constexpr (kIsMulti<C>) {
    EXPECT_TRUE(taken.empty());
    EXPECT_EQ(c.count(4), 2u);
    EXPECT_TRUE(result.second);
    EXPECT_EQ(&*result.first, address);
  } else {
    EXPECT_FALSE(taken.empty());
    EXPECT_FALSE(result.second);
    EXPECT_EQ(result.first, c.find(4));
  }
  EXPECT_EQ(c.insert(handle()), std::pair(c.end(), false));
}

TYPED_TEST(Unordered, Merges) {
  using C = TypeParam;
  using other_multi = std::conditional_t<
      kIsMap<C>,
      tbb::concurrent_unordered_multimap<int, int, std::hash<int>, std::equal_to<int>,
                                         allocator<pair>>,
      tbb::concurrent_unordered_multiset<int, std::hash<int>, std::equal_to<int>, allocator<int>>>;
  const auto values = elements<C>(0, 50);
  const auto others = elements<C>(25, 75);
  C c(values.begin(), values.end());
  C same(others.begin(), others.end());
  const auto* const address = &*same.find(60);
  c.merge(same);
  EXPECT_EQ(&*c.find(60), address);
  EXPECT_EQ(c.size() + same.size(), 100u);
  EXPECT_EQ(c.count(30), kIsMulti<C> ? 2u : 1u);
  EXPECT_EQ(keys(same), kIsMulti<C> ? numbers(0, 0) : numbers(25, 50));

  other_multi doubled(others.begin(), others.end());
  doubled.insert(element<C>(100));
  doubled.insert(element<C>(100));
  c.merge(std::move(doubled));
  EXPECT_EQ(c.count(100), kIsMulti<C> ? 2u : 1u);
  EXPECT_EQ(doubled.size(), kIsMulti<C> ? 0u : 51u);
  EXPECT_EQ(doubled.count(100), kIsMulti<C> ? 0u : 1u);
  EXPECT_EQ(doubled.count(30), kIsMulti<C> ? 0u : 1u);
  C empty;
  c.merge(empty);
  empty.merge(c);
  EXPECT_TRUE(c.empty());
  EXPECT_TRUE(empty.contains(100));
}

TYPED_TEST(Unordered, Buckets) {
  using C = TypeParam;
  C c;
  const C& constant = c;
  EXPECT_EQ(c.unsafe_begin(0), c.unsafe_end(0));
  EXPECT_EQ(c.unsafe_bucket_size(1), 0u);
  const auto values = elements<C>(0, 1000);
  c.insert(values.begin(), values.end());
  EXPECT_LE(c.load_factor(), c.max_load_factor());
  EXPECT_LE(c.unsafe_bucket_count(), c.unsafe_max_bucket_count());
  std::size_t sum = 0;
  for (std::size_t n = 0; n < c.unsafe_bucket_count(); ++n) {
    std::size_t size = 0;
    for (auto it = c.unsafe_begin(n); it != c.unsafe_end(n); ++it, ++size) {
      EXPECT_EQ(c.unsafe_bucket(key_of(*it)), n);
    }
    EXPECT_EQ(c.unsafe_bucket_size(n), size);
    EXPECT_EQ(constant.unsafe_begin(n), c.unsafe_begin(n));
    EXPECT_EQ(constant.unsafe_end(n), c.unsafe_cend(n));
    EXPECT_EQ(c.unsafe_cbegin(n), c.unsafe_begin(n));
    sum += size;
  }
  EXPECT_EQ(sum, 1000u);
}

TYPED_TEST(Unordered, HashPolicy) {
  using C = TypeParam;
  C c;
  c.rehash(1000);
  EXPECT_GE(c.unsafe_bucket_count(), 1000u);
  c.max_load_factor(0.5f);
  EXPECT_EQ(c.max_load_factor(), 0.5f);
  c.reserve(1000);
  EXPECT_GE(c.unsafe_bucket_count(), 2000u);
  const std::size_t buckets = c.unsafe_bucket_count();
  const auto values = elements<C>(0, 1000);
  c.insert(values.begin(), values.end());
  EXPECT_EQ(c.unsafe_bucket_count(), buckets);
  c.rehash(1);
  EXPECT_EQ(keys(c), numbers(0, 1000));
  EXPECT_THROW(c.max_load_factor(-1), std::out_of_range);
  EXPECT_THROW(c.max_load_factor(std::numeric_limits<float>::quiet_NaN()), std::out_of_range);
  EXPECT_EQ(c.max_load_factor(), 0.5f);
  EXPECT_THROW(c.rehash(~std::size_t{0}), std::length_error);
  C huge;
  huge.max_load_factor(std::numeric_limits<float>::infinity());
  huge.insert(values.begin(), values.end());
  EXPECT_EQ(huge.unsafe_bucket_count(), 8u);
  EXPECT_EQ(keys(huge), numbers(0, 1000));
  C tiny;
  tiny.max_load_factor(0);
  tiny.insert(values.begin(), values.end());
  EXPECT_EQ(keys(tiny), numbers(0, 1000));
  EXPECT_GE(c.max_size(), 1000u);
  EXPECT_TRUE(c.key_eq()(1, 1));
  EXPECT_EQ(c.hash_function()(1), hash()(1));
}

TYPED_TEST(Unordered, Compares) {
  using C = TypeParam;
  const auto values = elements<C>(0, 100);
  C a(values.begin(), values.end());
  C b(values.rbegin(), values.rend(), 1000);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a != b);
  b.unsafe_erase(50);
  EXPECT_FALSE(a == b);
  b.insert(element<C>(100));
  EXPECT_TRUE(a != b);
  EXPECT_EQ(C(), C());
  if constexpr (kIsMap<C> && kIsMulti<C>) {
    EXPECT_EQ((C{{1, 1}, {1, 2}, {1, 2}}), (C{{1, 2}, {1, 1}, {1, 2}}));
    EXPECT_NE((C{{1, 1}, {1, 2}, {1, 2}}), (C{{1, 2}, {1, 1}, {1, 1}}));
  }
}

template <typename Range>
void walk(Range range, std::vector<int>& found, int& parts) {
  if (range.is_divisible()) {
    Range second(range, tbb::split());
    EXPECT_FALSE(range.empty());
    EXPECT_FALSE(second.empty());
    EXPECT_EQ(range.end(), second.begin());
    walk(range, found, parts);
    walk(second, found, parts);
    return;
  }
  ++parts;
  for (const auto& each : range) found.push_back(key_of(each));
}

TYPED_TEST(Unordered, Ranges) {
  using C = TypeParam;
  for (const int count : {0, 1, 2, 10, 3000}) {
    const auto values = elements<C>(0, count);
    C c(values.begin(), values.end());
    int parts = 0;
    std::vector<int> found;
    typename C::range_type whole = c.range();
    EXPECT_EQ(whole.empty(), count == 0);
    EXPECT_EQ(whole.grainsize(), 1u);
    walk(whole, found, parts);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, numbers(0, count));
    EXPECT_GE(parts, count / 4);
    found.clear();
    const C& constant = c;
    typename C::const_range_type constant_range = constant.range();
    walk(constant_range, found, parts);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, numbers(0, count));
  }
}

TYPED_TEST(Unordered, MemoryAtRest) {
  using C = TypeParam;
  {
    const C none;
    EXPECT_EQ(memory_of(0).blocks, 0);
  }
  for (const int count : {1, 10, 1000, 100000}) {
    const auto values = elements<C>(0, count);
    const C c(values.begin(), values.end());
    EXPECT_LE(memory_of(0).bytes, 64 + 2048 + count * std::ptrdiff_t(16 + 8));
  }
}

}  // namespace
}  // namespace corbel::test
