// SPDX-License-Identifier: Apache-2.0
// concurrent_vector when a constructor or the allocator throws, at each possible place.
#include <gtest/gtest.h>
#include <tbb/concurrent_vector.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "vector_allocators.hpp"

namespace {

struct Thrown {};

// An element whose constructor throws when told to. All bytes zero is an element that is not
// counted.
class Element {
 public:
  static std::atomic<long> alive, until_throw;
  static void throw_at(long n) { until_throw = n; }
  static void never_throw() { until_throw = 1'000'000'000; }

  Element() : Element(1) {}
  Element(int v) : value(v) {
    if (until_throw.fetch_sub(1) <= 0) throw Thrown();
    ++alive;
    counted_ = true;
  }
  Element(const Element& other) : Element(other.value) {}
  Element& operator=(const Element&) = default;
  ~Element() {
    if (counted_) --alive;
    counted_ = false;
  }
  bool is_zero() const { return !counted_ && value == 0; }

  int value;

 private:
  bool counted_;
};
std::atomic<long> Element::alive{0}, Element::until_throw{1'000'000'000};

using Allocator = test::Counting<Element>;
using V = tbb::concurrent_vector<Element, Allocator>;

std::size_t count_zero(const V& v) {
  std::size_t n = 0;
  for (const Element& e : v) n += e.is_zero();
  return n;
}

// Calls `grow` on a vector of 20 elements with the n-th constructor throwing, for every n, and
// expects that the elements from the n-th new one on are zero, `added` in total.
template <typename Grow>
void throws_in_constructor(std::size_t added, const Grow& grow) {
  const long before = Element::alive;
  test::Memory memory;
  for (std::size_t n = 0; n <= added; ++n) {
    {
      V v(20, Element(5), Allocator(memory));
      Element::throw_at(long(n));
      bool thrown = false;
      try {
        grow(v);
      } catch (const Thrown&) {
        thrown = true;
      }
      Element::never_throw();
      ASSERT_EQ(thrown, n < added);
      ASSERT_EQ(v.size(), 20 + added);
      ASSERT_EQ(count_zero(v), added - n);
      for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v.at(i).is_zero(), i >= 20 + n);
      ASSERT_EQ(Element::alive, before + long(20 + n));
      // The vector can be used as before.
      v.push_back(Element(7));
      ASSERT_EQ(v.back().value, 7);
      const V copy(v);
      ASSERT_EQ(copy.size(), v.size());
    }
    ASSERT_EQ(Element::alive, before);
    ASSERT_EQ(memory.bytes, 0);
  }
}

const Element& a_value() {
  static const Element value(3);
  return value;
}

TEST(ConcurrentVectorExceptions, ConstructorThrowsInGrowth) {
  a_value();
  throws_in_constructor(1, [](V& v) { v.emplace_back(4); });
  throws_in_constructor(1, [](V& v) { v.push_back(a_value()); });
  throws_in_constructor(50, [](V& v) { v.grow_by(50); });
  throws_in_constructor(50, [](V& v) { v.grow_by(50, a_value()); });
  static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  throws_in_constructor(14, [](V& v) { v.grow_by(std::begin(numbers), std::end(numbers)); });
  throws_in_constructor(30, [](V& v) { v.grow_to_at_least(50); });
  throws_in_constructor(30, [](V& v) { v.grow_to_at_least(50, a_value()); });
  throws_in_constructor(30, [](V& v) { v.resize(50, a_value()); });
}

TEST(ConcurrentVectorExceptions, ConstructorThrowsInAssignment) {
  a_value();
  test::Memory memory;
  for (long n = 0; n < 40; ++n) {
    const long before = Element::alive;
    V source(40, Allocator(memory)), v(10, Allocator(memory));
    Element::throw_at(n);
    EXPECT_THROW(v = source, Thrown);
    Element::never_throw();
    ASSERT_EQ(v.size(), 40u);
    ASSERT_EQ(count_zero(v), std::size_t(40 - n));
    ASSERT_EQ(Element::alive, before + 40 + n);
    v = source;
    ASSERT_EQ(count_zero(v), 0u);
  }
  EXPECT_EQ(memory.bytes, 0);
}

// Of a vector whose construction throws nothing is left.
template <typename Make>
void throws_in_construction(long elements, const Make& make) {
  const long before = Element::alive;
  test::Memory memory;
  for (long n = 0; n < elements; ++n) {
    Element::throw_at(n);
    EXPECT_THROW(make(Allocator(memory)), Thrown);
    Element::never_throw();
    ASSERT_EQ(Element::alive, before);
    ASSERT_EQ(memory.bytes, 0);
  }
  for (long n = 0;; ++n) {
    memory.allocations_left = n;
    try {
      make(Allocator(memory));
      ASSERT_GT(n, 0);
      break;
    } catch (const std::bad_alloc&) {
      ASSERT_EQ(Element::alive, before);
      ASSERT_EQ(memory.bytes, 0);
    }
  }
}

TEST(ConcurrentVectorExceptions, Construction) {
  a_value();
  static test::Memory elsewhere;
  const std::vector<int> numbers(40, 2);
  static const V source(numbers.begin(), numbers.end(), Allocator(elsewhere));
  throws_in_construction(40, [](const Allocator& a) { V(40, a); });
  throws_in_construction(40, [](const Allocator& a) { V(40, a_value(), a); });
  throws_in_construction(40, [&](const Allocator& a) { V(numbers.begin(), numbers.end(), a); });
  throws_in_construction(40, [](const Allocator& a) { V(source, a); });
  throws_in_construction(40, [](const Allocator& a) {
    // An allocator that differs: each element is moved.
    static const std::vector<int> values(40, 1);
    const long left = Element::until_throw;
    Element::never_throw();
    V v(values.begin(), values.end(), Allocator(elsewhere));
    Element::until_throw = left;
    V moved(std::move(v), a);
  });
}

// What a broken vector guarantees.
void expect_broken(V& v, std::size_t claimed) {
  ASSERT_LE(v.size(), v.capacity());
  ASSERT_LT(v.capacity(), claimed);
  for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v.at(i).value, i < 20 ? 5 : 0);
  EXPECT_THROW(v.at(v.capacity()), std::range_error);
  EXPECT_THROW(v.at(claimed - 1), std::range_error);
  EXPECT_THROW(v.at(claimed + 10), std::out_of_range);
  const std::size_t size = v.size(), capacity = v.capacity();
  EXPECT_THROW(v.push_back(a_value()), tbb::bad_last_alloc);
  EXPECT_THROW(v.grow_by(1000), std::bad_alloc);
  EXPECT_THROW(v.grow_to_at_least(5000), tbb::bad_last_alloc);
  EXPECT_THROW(v.grow_to_at_least(claimed), tbb::bad_last_alloc);
  EXPECT_EQ(v.size(), size);
  EXPECT_EQ(v.capacity(), capacity);
  EXPECT_EQ(v.grow_to_at_least(10) - v.begin(), 10);
}

enum class End { kDestroy, kClear, kAssign, kMove, kSwap, kResize, kShrink };

// Breaks a vector in each allocation of a growth to 1000 elements.
void breaks(End end) {
  a_value();
  const long before = Element::alive;
  test::Memory memory;
  for (long n = 0; n < 6; ++n) {
    {
      V v(20, Element(5), Allocator(memory));
      memory.allocations_left = n;
      EXPECT_THROW(v.grow_by(980, a_value()), std::bad_alloc);
      memory.allocations_left = 1000;
      ASSERT_EQ(Element::alive, before + 20);
      expect_broken(v, 1000);
      V w(v);
      ASSERT_EQ(w.size(), v.size());
      switch (end) {
        case End::kDestroy:
          continue;
        case End::kClear:
          v.clear();
          ASSERT_TRUE(v.empty());
          break;
        case End::kAssign:
          v = w;
          break;
        case End::kMove: {
          V taken(std::move(v));
          ASSERT_EQ(taken.size(), w.size());
          taken.grow_by(5000);
          break;
        }
        case End::kSwap:
          v.swap(w);
          w.grow_by(5000);
          break;
        case End::kResize:
          v.resize(3);
          break;
        case End::kShrink:
          v.shrink_to_fit();
          break;
      }
      const std::size_t size = v.size();
      v.grow_by(3000, a_value());
      ASSERT_EQ(v.size(), size + 3000);
      ASSERT_EQ(v.back().value, 3);
    }
    ASSERT_EQ(Element::alive, before);
    ASSERT_EQ(memory.bytes, 0);
  }
}

TEST(ConcurrentVectorExceptions, BrokenThenDestroyed) { breaks(End::kDestroy); }
TEST(ConcurrentVectorExceptions, BrokenThenCleared) { breaks(End::kClear); }
TEST(ConcurrentVectorExceptions, BrokenThenAssigned) { breaks(End::kAssign); }
TEST(ConcurrentVectorExceptions, BrokenThenMoved) { breaks(End::kMove); }
TEST(ConcurrentVectorExceptions, BrokenThenSwapped) { breaks(End::kSwap); }
TEST(ConcurrentVectorExceptions, BrokenThenResized) { breaks(End::kResize); }
TEST(ConcurrentVectorExceptions, BrokenThenShrunk) { breaks(End::kShrink); }

// reserve and shrink_to_fit have the strong guarantee.
TEST(ConcurrentVectorExceptions, ReserveAndShrink) {
  test::Memory memory;
  V v(20, Element(5), Allocator(memory));
  for (long n = 0; n < 4; ++n) {
    memory.allocations_left = n;
    EXPECT_THROW(v.reserve(100'000), std::bad_alloc);
    memory.allocations_left = 1000;
    ASSERT_EQ(v.size(), 20u);
    v.push_back(a_value());
    v.resize(20);
  }
  v.grow_by(100, a_value());
  memory.allocations_left = 0;
  EXPECT_THROW(v.shrink_to_fit(), std::bad_alloc);
  memory.allocations_left = 1000;
  for (long n = 0; n < 120; ++n) {
    Element::throw_at(n);
    EXPECT_THROW(v.shrink_to_fit(), Thrown);
    Element::never_throw();
    ASSERT_EQ(v.size(), 120u);
    ASSERT_EQ(v[0].value, 5);
    ASSERT_EQ(v[119].value, 3);
  }
  v.shrink_to_fit();
  EXPECT_EQ(v.capacity(), 128u);
}

TEST(ConcurrentVectorExceptions, AbsurdSizes) {
  tbb::concurrent_vector<int> v{1, 2};
  const std::size_t most = v.max_size();
  EXPECT_THROW(v.grow_by(most + 1), std::bad_alloc);
  EXPECT_THROW(v.grow_to_at_least(most + 1), std::bad_alloc);
  EXPECT_THROW(v.resize(~std::size_t{0}), std::bad_alloc);
  EXPECT_EQ(v.size(), 2u);
  v.push_back(3);
  EXPECT_EQ(v[2], 3);
  EXPECT_THROW(tbb::concurrent_vector<int> w(most + 1), std::bad_alloc);
  EXPECT_THROW(tbb::concurrent_vector<int> w(most), std::bad_alloc);
}

// Threads append while constructors and allocations fail now and then. Nothing is lost: each
// element that was appended successfully is there, all others are zero.
TEST(ConcurrentVectorExceptions, ThreadsAndThrowingConstructors) {
  test::Memory memory;
  {
    V v{Allocator(memory)};
    std::atomic<long> good{0}, bad{0};
    Element::throw_at(37);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          try {
            if (i % 3 == 0) {
              v.emplace_back(t + 1);
            } else {
              v.grow_by(2);
            }
            good += i % 3 == 0 ? 1 : 2;
          } catch (const Thrown&) {
            ++bad;
            Element::throw_at(37);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    Element::never_throw();
    EXPECT_EQ(v.size(), 4u * (667 + 2 * 1333));
    EXPECT_GT(bad, 0);
    const long constructed = long(v.size() - count_zero(v));
    EXPECT_GE(constructed, good);
    EXPECT_LE(long(v.size()) - constructed, 2 * bad);
  }
  EXPECT_EQ(memory.bytes, 0);
}

TEST(ConcurrentVectorExceptions, ThreadsAndFailingAllocator) {
  const long before = Element::alive;
  for (long n = 0; n < 12; ++n) {
    test::Memory memory;
    {
      V v{Allocator(memory)};
      memory.allocations_left = n;
      std::atomic<long> good{0}, refused{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < 1000; ++i) {
            try {
              v.emplace_back(t + 1);
              ++good;
            } catch (const std::bad_alloc&) {
              ++refused;
            }
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(good + refused, 4000);
      EXPECT_EQ(long(v.size()), good);
      EXPECT_EQ(count_zero(v), 0u);
      EXPECT_EQ(refused == 0, v.size() == 4000);
      EXPECT_EQ(Element::alive, before + good);
    }
    EXPECT_EQ(Element::alive, before);
    EXPECT_EQ(memory.bytes, 0);
  }
}

}  // namespace
