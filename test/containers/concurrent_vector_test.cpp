// SPDX-License-Identifier: Apache-2.0
// concurrent_vector in one thread: each documented sentence but those about exceptions.
#include <gtest/gtest.h>
#include <tbb/concurrent_vector.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "vector_allocators.hpp"

namespace {

using Ints = tbb::concurrent_vector<int>;
using test::Tagged;
template <bool kPropagates>
using TaggedInts = tbb::concurrent_vector<int, Tagged<int, kPropagates>>;

template <typename V>
std::vector<typename V::value_type> contents(const V& v) {
  return {v.begin(), v.end()};
}
std::vector<int> numbers(int first, int last) {
  std::vector<int> result(std::size_t(last - first));
  std::iota(result.begin(), result.end(), first);
  return result;
}

static_assert(std::is_same_v<Ints::value_type, int>);
static_assert(std::is_same_v<Ints::allocator_type, tbb::cache_aligned_allocator<int>>);
static_assert(std::is_same_v<Ints::reference, int&>);
static_assert(std::is_same_v<Ints::const_reference, const int&>);
static_assert(std::is_same_v<Ints::pointer, int*>);
static_assert(std::is_same_v<Ints::const_pointer, const int*>);
static_assert(std::is_same_v<Ints::size_type, std::size_t>);
static_assert(std::is_same_v<Ints::difference_type, std::ptrdiff_t>);
static_assert(std::is_same_v<Ints::range_type::iterator, Ints::iterator>);
static_assert(std::is_same_v<Ints::const_range_type::iterator, Ints::const_iterator>);
static_assert(std::is_nothrow_default_constructible_v<Ints>);
static_assert(std::is_nothrow_move_constructible_v<Ints>);
static_assert(std::is_nothrow_move_assignable_v<Ints>);
static_assert(std::is_convertible_v<Ints::iterator, Ints::const_iterator>);
static_assert(!std::is_convertible_v<Ints::const_iterator, Ints::iterator>);
static_assert(!std::is_convertible_v<int, Ints>);
static_assert(std::random_access_iterator<Ints::iterator>);
static_assert(std::random_access_iterator<Ints::const_iterator>);
static_assert(sizeof(Ints) <= 72);

TEST(ConcurrentVector, EmptyOne) {
  const Ints v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.size(), 0u);
  EXPECT_EQ(v.capacity(), 0u);
  EXPECT_TRUE(v.begin() == v.end());
  EXPECT_GE(v.max_size(), std::size_t(1) << 30);
  EXPECT_THROW(v.at(0), std::out_of_range);
}

TEST(ConcurrentVector, Constructors) {
  EXPECT_EQ(contents(Ints(5)), std::vector<int>(5, 0));
  EXPECT_EQ(contents(Ints(5, 7)), std::vector<int>(5, 7));
  EXPECT_EQ(contents(Ints({1, 2, 3})), numbers(1, 4));
  const std::vector<int> source = numbers(0, 100);
  EXPECT_EQ(contents(Ints(source.begin(), source.end())), source);
  std::istringstream stream("1 2 3 4");
  EXPECT_EQ(contents(Ints(std::istream_iterator<int>(stream), std::istream_iterator<int>())),
            numbers(1, 5));
  const std::list<std::string> words{"a", "b"};
  const tbb::concurrent_vector<std::string> copied(words.begin(), words.end());
  EXPECT_EQ(copied[1], "b");

  const Ints v(source.begin(), source.end());
  EXPECT_EQ(contents(Ints(v)), source);
  Ints w(v);
  const int* const address = &w[50];
  Ints taken(std::move(w));
  EXPECT_EQ(&taken[50], address);
  EXPECT_TRUE(w.empty());
  w.push_back(3);
  EXPECT_EQ(contents(w), std::vector<int>{3});
  const tbb::concurrent_vector<int, std::allocator<int>> other(v);
  EXPECT_EQ(contents(other), source);
}

TEST(ConcurrentVector, ConstructorsWithAllocator) {
  using V = TaggedInts<false>;
  const Tagged<int, false> one(1), two(2);
  EXPECT_EQ(V(one).get_allocator(), one);
  EXPECT_EQ(V(3, one).get_allocator(), one);
  EXPECT_EQ(V(3, 4, one).get_allocator(), one);
  EXPECT_EQ(V({1, 2}, one).get_allocator(), one);
  const std::vector<int> source = numbers(0, 40);
  V v(source.begin(), source.end(), one);
  EXPECT_EQ(v.get_allocator(), one);
  EXPECT_EQ(V(v).get_allocator(), Tagged<int>(101));  // what select_on_... gives
  const V copied(v, two);
  EXPECT_EQ(copied.get_allocator(), two);
  EXPECT_EQ(contents(copied), source);
  const int* const address = &v[0];
  V same(std::move(v), one);
  EXPECT_EQ(&same[0], address);
  V different(std::move(same), two);
  EXPECT_NE(&different[0], address);
  EXPECT_EQ(different.get_allocator(), two);
  EXPECT_EQ(contents(different), source);
  EXPECT_TRUE(same.empty());
}

TEST(ConcurrentVector, DeductionGuides) {
  const std::vector<double> source{1, 2};
  tbb::concurrent_vector a(source.begin(), source.end());
  static_assert(std::is_same_v<decltype(a), tbb::concurrent_vector<double>>);
  tbb::concurrent_vector b(source.begin(), source.end(), std::allocator<double>());
  static_assert(
      std::is_same_v<decltype(b), tbb::concurrent_vector<double, std::allocator<double>>>);
  tbb::concurrent_vector c{1, 2, 3};
  static_assert(std::is_same_v<decltype(c), Ints>);
  tbb::concurrent_vector d(c);
  static_assert(std::is_same_v<decltype(d), Ints>);
  tbb::concurrent_vector e(std::move(d), tbb::cache_aligned_allocator<int>());
  static_assert(std::is_same_v<decltype(e), Ints>);
  tbb::concurrent_vector f(std::size_t(3), 'c');
  static_assert(std::is_same_v<decltype(f), tbb::concurrent_vector<char>>);
}

TEST(ConcurrentVector, Assignment) {
  const Ints v{1, 2, 3};
  Ints w(100);
  w = v;
  EXPECT_EQ(contents(w), numbers(1, 4));
  w = *&w;
  EXPECT_EQ(contents(w), numbers(1, 4));
  w = {4, 5};
  EXPECT_EQ(contents(w), numbers(4, 6));
  w.assign(3, 8);
  EXPECT_EQ(contents(w), std::vector<int>(3, 8));
  w.assign({9, 10});
  EXPECT_EQ(contents(w), numbers(9, 11));
  const std::list<int> source{5, 6, 7};
  w.assign(source.begin(), source.end());
  EXPECT_EQ(contents(w), numbers(5, 8));
  std::istringstream stream("1 2 3");
  w.assign(std::istream_iterator<int>(stream), std::istream_iterator<int>());
  EXPECT_EQ(contents(w), numbers(1, 4));
  const tbb::concurrent_vector<int, std::allocator<int>> other{3, 4};
  w = other;
  EXPECT_EQ(contents(w), numbers(3, 5));
  Ints x(numbers(0, 1000).size());
  const int* const address = &x[999];
  w = std::move(x);
  EXPECT_EQ(&w[999], address);
  EXPECT_TRUE(x.empty());
  x = std::move(w);
  EXPECT_EQ(&x[999], address);
}

template <bool kPropagates>
void assigns_with_allocators() {
  const std::vector<int> source = numbers(0, 70);
  const Tagged<int, kPropagates> one(1), two(2);
  TaggedInts<kPropagates> a(source.begin(), source.end(), one), b(3, two), c(2, two);
  b = a;
  EXPECT_EQ(contents(b), source);
  EXPECT_EQ(b.get_allocator(), kPropagates ? one : two);
  const int* const address = &a[5];
  c = std::move(a);
  EXPECT_EQ(contents(c), source);
  EXPECT_EQ(c.get_allocator(), kPropagates ? one : two);
  EXPECT_EQ(&c[5] == address, kPropagates);
  EXPECT_TRUE(a.empty());
  TaggedInts<kPropagates> d(1, kPropagates ? two : c.get_allocator());
  const auto of_d = d.get_allocator(), of_c = c.get_allocator();
  c.swap(d);
  EXPECT_EQ(d.get_allocator(), of_c);
  EXPECT_EQ(c.get_allocator(), of_d);
  EXPECT_EQ(contents(d), source);
  EXPECT_EQ(c.size(), 1u);
}

TEST(ConcurrentVector, AllocatorsThatPropagate) { assigns_with_allocators<true>(); }
TEST(ConcurrentVector, AllocatorsThatStay) { assigns_with_allocators<false>(); }

TEST(ConcurrentVector, AppendsOneElement) {
  tbb::concurrent_vector<std::pair<int, std::string>> v;
  const std::pair<int, std::string> one(1, "one");
  auto it = v.push_back(one);
  EXPECT_EQ(it - v.begin(), 0);
  EXPECT_EQ(it->second, "one");
  it = v.push_back(std::make_pair(2, std::string("two")));
  EXPECT_EQ(it->first, 2);
  it = v.emplace_back(3, "three");
  EXPECT_EQ(it - v.begin(), 2);
  EXPECT_EQ(v.back().second, "three");
  EXPECT_EQ(v.front(), one);
  tbb::concurrent_vector<std::unique_ptr<int>> pointers;
  pointers.push_back(std::make_unique<int>(4));
  EXPECT_EQ(*pointers[0], 4);
}

TEST(ConcurrentVector, GrowsByMany) {
  Ints v;
  EXPECT_EQ(v.grow_by(3) - v.begin(), 0);
  EXPECT_EQ(v.grow_by(2, 9) - v.begin(), 3);
  const std::list<int> list{1, 2};
  EXPECT_EQ(v.grow_by(list.begin(), list.end()) - v.begin(), 5);
  EXPECT_EQ(v.grow_by({3, 4}) - v.begin(), 7);
  EXPECT_EQ(contents(v), (std::vector<int>{0, 0, 0, 9, 9, 1, 2, 3, 4}));
  EXPECT_TRUE(v.grow_by(0) == v.end());
  EXPECT_EQ(*v.grow_by(1000, 5), 5);
  EXPECT_EQ(std::count(v.begin(), v.end(), 5), 1000);
}

TEST(ConcurrentVector, GrowsToAtLeast) {
  Ints v{1, 2};
  EXPECT_EQ(v.grow_to_at_least(5) - v.begin(), 2);
  EXPECT_EQ(v.grow_to_at_least(3) - v.begin(), 3);
  EXPECT_EQ(v.size(), 5u);
  EXPECT_EQ(v.grow_to_at_least(200, 7) - v.begin(), 5);
  EXPECT_EQ(v[4], 0);
  EXPECT_EQ(v[5], 7);
  EXPECT_EQ(v[199], 7);
  EXPECT_TRUE(v.grow_to_at_least(200) == v.end());
}

TEST(ConcurrentVector, ElementsStay) {
  Ints v;
  std::vector<const int*> addresses;
  std::vector<Ints::iterator> iterators;
  for (int i = 0; i < 5000; ++i) {
    iterators.push_back(v.end());
    addresses.push_back(&*v.push_back(i));
  }
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(&v[std::size_t(i)], addresses[std::size_t(i)]);
    ASSERT_EQ(*iterators[std::size_t(i)], i);
    ASSERT_EQ(&v.at(std::size_t(i)), addresses[std::size_t(i)]);
  }
}

TEST(ConcurrentVector, Iterators) {
  Ints v;
  for (int i = 0; i < 3000; ++i) v.push_back(i);
  const Ints& c = v;
  int expected = 0;
  for (Ints::iterator it = v.begin(); it != v.end(); ++it) ASSERT_EQ(*it, expected++);
  for (auto it = c.rbegin(); it != c.rend(); ++it) ASSERT_EQ(*it, --expected);
  for (auto it = v.rbegin(); it != v.rend(); it++) ++*it;
  EXPECT_EQ(std::accumulate(c.cbegin(), c.cend(), 0L), 3000L * 3001 / 2);
  EXPECT_EQ(*c.crbegin(), 3000);
  EXPECT_EQ(*(c.crend() - 1), 1);
  Ints::iterator it = v.begin();
  const std::ptrdiff_t steps[] = {1, 30, -31, 2999, -1000, 1, -1999, 63, 1, 64, -64, 1024, -1};
  std::ptrdiff_t at = 0;
  for (const std::ptrdiff_t n : steps) {
    it += n;
    at += n;
    ASSERT_EQ(*it, at + 1);
    ASSERT_EQ(it - v.begin(), at);
    Ints::const_iterator other = it;
    ASSERT_TRUE(other == it && it == other && !(it < other) && it <= other && other >= it);
    ASSERT_EQ(it[-at], 1);
    ASSERT_EQ(*(2999 - at + it), 3000);
  }
  std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
  EXPECT_EQ(v[0], 3000);
  EXPECT_TRUE(std::is_sorted(v.rbegin(), v.rend()));
}

TEST(ConcurrentVector, Ranges) {
  Ints v(10000, 1);
  tbb::parallel_for(v.range(100), [](const Ints::range_type& r) {
    for (int& i : r) i += 2;
  });
  std::atomic<int> sum{0};
  const Ints& c = v;
  tbb::parallel_for(c.range(), [&](const Ints::const_range_type& r) {
    int part = 0;
    for (auto it = r.begin(); it != r.end(); ++it) part += *it;
    sum += part;
  });
  EXPECT_EQ(sum, 30000);
  EXPECT_EQ(v.range(7).grainsize(), 7u);
  EXPECT_EQ(Ints::const_range_type(v.range(7)).size(), 10000u);
}

TEST(ConcurrentVector, Capacity) {
  Ints v;
  v.reserve(100);
  EXPECT_GE(v.capacity(), 100u);
  EXPECT_TRUE(v.empty());
  const std::size_t capacity = v.capacity();
  v.grow_by(100, 3);
  EXPECT_EQ(v.capacity(), capacity);
  EXPECT_EQ(&v[99] - &v[0], 99);  // the first block
  v.reserve(5000);
  EXPECT_GE(v.capacity(), 5000u);
  EXPECT_EQ(v.size(), 100u);
  EXPECT_THROW(v.reserve(v.max_size() + 1), std::length_error);
  v.clear();
  EXPECT_TRUE(v.empty());
  EXPECT_GE(v.capacity(), 5000u);
  v.shrink_to_fit();
  EXPECT_EQ(v.capacity(), 0u);
  v.push_back(1);
  EXPECT_EQ(contents(v), std::vector<int>{1});
}

TEST(ConcurrentVector, ShrinksToFit) {
  for (const int n : {1, 2, 31, 32, 33, 100, 1000, 4096}) {
    Ints v;
    for (int i = 0; i < n; ++i) v.push_back(i);
    v.reserve(20000);
    v.shrink_to_fit();
    EXPECT_EQ(contents(v), numbers(0, n));
    EXPECT_LT(v.capacity(), std::size_t(2 * n + 64));
    EXPECT_EQ(&v[std::size_t(n) - 1] - &v[0], n - 1);
    for (int i = n; i < n + 100; ++i) v.push_back(i);
    EXPECT_EQ(contents(v), numbers(0, n + 100));
  }
}

TEST(ConcurrentVector, Resizes) {
  tbb::concurrent_vector<std::string> v;
  v.resize(10, "x");
  v.resize(50);
  EXPECT_EQ(v[9], "x");
  EXPECT_EQ(v[10], "");
  v.resize(5);
  EXPECT_EQ(v.size(), 5u);
  v.resize(7, "y");
  EXPECT_EQ(v[4] + v[5] + v[6], "xyy");
}

TEST(ConcurrentVector, Swaps) {
  Ints a{1, 2}, b(1000, 3);
  const int* const address = &a[1];
  swap(a, b);
  EXPECT_EQ(&b[1], address);
  EXPECT_EQ(a.size(), 1000u);
  a.swap(b);
  a.swap(a);
  EXPECT_EQ(contents(a), numbers(1, 3));
  a.push_back(3);
  b.grow_by(2000);
  EXPECT_EQ(b.size(), 3000u);
}

TEST(ConcurrentVector, Compares) {
  const Ints a{1, 2}, b{1, 2}, c{1, 3}, d{1, 2, 0};
  const tbb::concurrent_vector<int, std::allocator<int>> e{1, 2};
  EXPECT_TRUE(a == b && a != c && a == e && !(a == d) && a <= b && a >= b);
  EXPECT_TRUE(a < c && c > a && a < d && d > a && d < c && a <= d && !(d <= a) && !(a < b));
}

TEST(ConcurrentVector, ComparesThreeWay) {
  const Ints a{1, 2}, b{1, 3}, c{1, 2, 0};
  EXPECT_TRUE((a <=> a) == 0 && (a <=> b) < 0 && (c <=> a) > 0 && (c <=> b) < 0);
  static_assert(std::is_same_v<decltype(a <=> b), std::strong_ordering>);
  // A type with nothing but <.
  struct Less {
    int value;
    bool operator<(const Less& other) const { return value < other.value; }
  };
  const tbb::concurrent_vector<Less> d{Less{1}}, e{Less{2}};
  EXPECT_TRUE((d <=> e) < 0 && (e <=> d) > 0 && (d <=> d) == 0);
  static_assert(std::is_same_v<decltype(d <=> e), std::weak_ordering>);
  const tbb::concurrent_vector<double> f{1.0}, g{0.0 / 0.0 * 1.0};
  static_assert(std::is_same_v<decltype(f <=> g), std::partial_ordering>);
}

// A type may hold vectors of itself.
TEST(ConcurrentVector, IncompleteElements) {
  struct Node {
    tbb::concurrent_vector<Node> below;
  };
  Node root;
  root.below.grow_by(20);
  root.below[19].below.emplace_back();
  EXPECT_EQ(root.below[19].below.size(), 1u);
}

// Every element is aligned, and large elements need few at once.
TEST(ConcurrentVector, AlignedElements) {
  struct alignas(64) Line {
    char c[192];
  };
  tbb::concurrent_vector<Line> v(3);
  v.grow_by(100);
  for (Line& line : v) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&line) % 64, 0u);
  tbb::concurrent_vector<char> chars(100, 'c');
  chars.grow_by(100, 'd');
  EXPECT_EQ(std::string(chars.begin(), chars.end()), std::string(100, 'c') + std::string(100, 'd'));
}

TEST(ConcurrentVector, ElementsAreDestroyedAndMemoryIsFreed) {
  test::Memory memory;
  {
    using Element = std::shared_ptr<int>;
    const Element counted = std::make_shared<int>(1);
    using V = tbb::concurrent_vector<Element, test::Counting<Element>>;
    V v(3, counted, test::Counting<Element>(memory));
    v.grow_by(500, counted);
    EXPECT_EQ(counted.use_count(), 504);
    v.resize(100);
    EXPECT_EQ(counted.use_count(), 101);
    V w(v);
    EXPECT_EQ(counted.use_count(), 201);
    w.shrink_to_fit();
    v = std::move(w);
    EXPECT_EQ(counted.use_count(), 101);
    v.clear();
    EXPECT_EQ(counted.use_count(), 1);
  }
  EXPECT_EQ(memory.bytes, 0);
}

}  // namespace
