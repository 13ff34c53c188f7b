// SPDX-License-Identifier: Apache-2.0
// concurrent_priority_queue: constructors, order, exceptions, threads.
#include <tbb/concurrent_priority_queue.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <forward_list>
#include <functional>
#include <memory>
#include <ostream>
#include <queue>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "linearizable.hpp"
#include "queue_tools.hpp"

namespace corbel::test {
namespace {

using tbb::concurrent_priority_queue;

class PriorityQueue : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(element::living, 0);
    EXPECT_EQ(requests::blocks, 0);
    element::countdown = element::assignments = requests::countdown = 0;
  }
};

std::vector<int> descending(int from, int to) {
  std::vector<int> values = numbers(to, from + 1);
  std::reverse(values.begin(), values.end());
  return values;
}

TEST_F(PriorityQueue, MemberTypes) {
  using queue = concurrent_priority_queue<int, std::greater<int>, std::allocator<int>>;
  static_assert(std::is_same_v<queue::value_type, int>);
  static_assert(std::is_same_v<queue::reference, int&>);
  static_assert(std::is_same_v<queue::const_reference, const int&>);
  static_assert(std::is_same_v<queue::size_type, std::size_t>);
  static_assert(std::is_same_v<queue::difference_type, std::ptrdiff_t>);
  static_assert(std::is_same_v<queue::allocator_type, std::allocator<int>>);
  static_assert(std::is_same_v<
                concurrent_priority_queue<int>,
                concurrent_priority_queue<int, std::less<int>, tbb::cache_aligned_allocator<int>>>);
}

// A comparison that is not const, as the standard containers accept.
struct counting_less {
  int calls = 0;
  bool operator()(int a, int b) {
    ++calls;
    return a < b;
  }
};

TEST_F(PriorityQueue, TakesAComparisonThatIsNotConst) {
  tbb::concurrent_priority_queue<int, counting_less> queue;
  for (int i = 0; i < 100; ++i) queue.push(i * 37 % 100);
  for (int i = 99; i >= 0; --i) {
    int value = -1;
    ASSERT_TRUE(queue.try_pop(value));
    EXPECT_EQ(value, i);
  }
}

TEST_F(PriorityQueue, Constructors) {
  using allocator = counting_allocator<element>;
  using queue = concurrent_priority_queue<element, std::less<element>, allocator>;
  const std::less<element> less;
  const std::vector<int> values = numbers(0, 100);
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(queue(allocator(2)).get_allocator().id, 2);
  EXPECT_EQ(queue(less, allocator(2)).get_allocator().id, 2);
  EXPECT_TRUE(queue(100).empty());
  EXPECT_EQ(queue(100, allocator(3)).get_allocator().id, 3);
  EXPECT_EQ(queue(100, less, allocator(3)).get_allocator().id, 3);
  EXPECT_EQ(queue(100, less).size(), 0U);

  const std::forward_list<int> list(values.begin(), values.end());
  queue range(list.begin(), list.end());
  queue allocated(values.begin(), values.end(), allocator(4));
  queue compared(values.begin(), values.end(), less, allocator(5));
  queue compared_only(values.begin(), values.end(), less);
  EXPECT_EQ(allocated.get_allocator().id, 4);
  EXPECT_EQ(compared.get_allocator().id, 5);
  EXPECT_TRUE(range == allocated);
  EXPECT_TRUE(range == compared);
  EXPECT_EQ(drain(compared_only), descending(99, 0));
  queue listed{3, 1, 2};
  queue listed_too({1, 2, 3}, allocator(1));
  queue listed_compared({3, 2, 1}, less, allocator(1));
  EXPECT_TRUE(listed == listed_too);
  EXPECT_TRUE(listed == listed_compared);
  EXPECT_TRUE(listed != range);

  queue copy(allocated);
  EXPECT_EQ(copy.get_allocator().id, 4);
  queue copy_too(allocated, allocator(6));
  EXPECT_EQ(copy_too.get_allocator().id, 6);
  EXPECT_TRUE(copy == copy_too);
  queue moved(std::move(copy));
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(copy.size(), 0U);
  EXPECT_EQ(moved.get_allocator().id, 4);
  queue moved_too(std::move(moved), allocator(7));
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(moved_too.get_allocator().id, 7);
  EXPECT_EQ(moved_too.size(), 100U);
  EXPECT_EQ(drain(moved_too), descending(99, 0));
}

template <bool kPropagates>
void test_assignments() {
  using allocator = counting_allocator<element, kPropagates>;
  using queue = concurrent_priority_queue<element, std::less<element>, allocator>;
  const std::vector<int> values = numbers(0, 50);
  const queue from(values.begin(), values.end(), allocator(1));
  queue to({element(1)}, allocator(2));
  to = from;
  EXPECT_TRUE(to == from);
  EXPECT_EQ(to.get_allocator().id, kPropagates ? 1 : 2);
  const queue& self = to;
  to = self;
  EXPECT_EQ(to.size(), 50U);
  queue source(from, allocator(3));
  to = std::move(source);
  EXPECT_TRUE(source.empty());
  EXPECT_TRUE(to == from);
  EXPECT_EQ(to.get_allocator().id, kPropagates ? 3 : 2);
  to = {1, 3, 2};
  EXPECT_EQ(drain(to), descending(3, 1));
  to.assign({5, 6});
  EXPECT_EQ(to.size(), 2U);
  to.assign(values.begin(), values.end());
  EXPECT_TRUE(to == from);
  queue other({element(9)}, allocator(kPropagates ? 8 : to.get_allocator().id));
  swap(to, other);
  EXPECT_EQ(to.size(), 1U);
  EXPECT_TRUE(other == from);
  to.swap(other);
  EXPECT_EQ(drain(other), descending(9, 9));
  to.clear();
  EXPECT_TRUE(to.empty());
  to.push(1);
  EXPECT_EQ(drain(to), descending(1, 1));
}

TEST_F(PriorityQueue, Assignments) {
  test_assignments<false>();
  test_assignments<true>();
}

TEST_F(PriorityQueue, ComparisonWithState) {
  const auto by = [](int factor) {
    return [factor](int a, int b) { return factor * a < factor * b; };
  };
  using compare = decltype(by(1));
  concurrent_priority_queue<int, compare> up({1, 2, 3}, by(1));
  concurrent_priority_queue<int, compare> down({1, 2, 3}, by(-1));
  concurrent_priority_queue<int, compare> copy(down);
  EXPECT_EQ(drain(up), descending(3, 1));
  EXPECT_EQ(drain(down), numbers(1, 4));
  EXPECT_EQ(drain(copy), numbers(1, 4));
  concurrent_priority_queue<int, bool (*)(int, int)> pointer([](int a, int b) { return a > b; });
  pointer.push(2);
  pointer.push(1);
  EXPECT_EQ(drain(pointer), numbers(1, 3));
}

TEST_F(PriorityQueue, ElementsThatCanOnlyBeMoved) {
  struct greater {
    bool operator()(const std::unique_ptr<int>& a, const std::unique_ptr<int>& b) const {
      return *a > *b;
    }
  };
  concurrent_priority_queue<std::unique_ptr<int>, greater> queue;
  for (int i = 20; i > 0; --i) queue.push(std::make_unique<int>(i));
  queue.emplace(new int(0));
  std::unique_ptr<int> popped;
  for (int i = 0; i <= 20; ++i) {
    ASSERT_TRUE(queue.try_pop(popped));
    EXPECT_EQ(*popped, i);
  }
}

TEST_F(PriorityQueue, Equality) {
  concurrent_priority_queue<int> a;
  concurrent_priority_queue<int> b;
  for (const int value : {5, 1, 4, 1, 3}) a.push(value);
  for (const int value : {1, 1, 3, 4, 5}) b.push(value);
  EXPECT_TRUE(a == b);
  b.push(1);
  EXPECT_TRUE(a != b);
  a.push(2);
  EXPECT_FALSE(a == b);
}

template <typename T>
void compare_with_std(T (*make)(int), int range) {
  std::mt19937 random(unsigned(range) + sizeof(T));
  concurrent_priority_queue<T> queue;
  std::priority_queue<T> expected;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 16 < (i / 2000 % 2 == 0 ? 10U : 6U)) {
      const T value = make(int(random() % unsigned(range)));
      queue.push(value);
      expected.push(value);
    } else {
      T value{};
      ASSERT_EQ(queue.try_pop(value), !expected.empty());
      if (!expected.empty()) {
        ASSERT_TRUE(value == expected.top());
        expected.pop();
      }
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
    if (i % 1000 == 0) {
      concurrent_priority_queue<T> copy(queue);
      EXPECT_TRUE(copy == queue);
      T value{};
      EXPECT_TRUE(!copy.try_pop(value) || value == expected.top());
    }
  }
}

TEST_F(PriorityQueue, RandomOperations) {
  for (const int range : {3, 100, 1'000'000}) {
    compare_with_std<int>([](int i) { return i; }, range);
    compare_with_std<std::string>([](int i) { return std::string(20, 'a') + std::to_string(i); },
                                  range);
    compare_with_std<element>([](int i) { return element(i); }, range);
  }
}

TEST_F(PriorityQueue, RangesOfAllSizes) {
  std::mt19937 random(1);
  for (int size = 0; size < 70; ++size) {
    std::vector<int> values = numbers(0, size);
    std::shuffle(values.begin(), values.end(), random);
    concurrent_priority_queue<int> queue(values.begin(), values.end());
    EXPECT_EQ(drain(queue), descending(size - 1, 0));
  }
}

TEST_F(PriorityQueue, DeductionGuides) {
  const std::vector<int> v{1, 2};
  const std::allocator<int> a;
  const std::greater<int> g;
  concurrent_priority_queue range(v.begin(), v.end());
  static_assert(std::is_same_v<decltype(range), concurrent_priority_queue<int>>);
  concurrent_priority_queue compared(v.begin(), v.end(), g);
  static_assert(
      std::is_same_v<decltype(compared), concurrent_priority_queue<int, std::greater<int>>>);
  concurrent_priority_queue both(v.begin(), v.end(), g, a);
  static_assert(
      std::is_same_v<decltype(both),
                     concurrent_priority_queue<int, std::greater<int>, std::allocator<int>>>);
  concurrent_priority_queue allocated(v.begin(), v.end(), a);
  static_assert(
      std::is_same_v<decltype(allocated),
                     concurrent_priority_queue<int, std::less<int>, std::allocator<int>>>);
  concurrent_priority_queue list{1, 2};
  static_assert(std::is_same_v<decltype(list), concurrent_priority_queue<int>>);
  concurrent_priority_queue list_compared({1, 2}, g);
  static_assert(std::is_same_v<decltype(list_compared), decltype(compared)>);
  concurrent_priority_queue list_both({1, 2}, g, a);
  static_assert(std::is_same_v<decltype(list_both), decltype(both)>);
  concurrent_priority_queue list_allocated({1, 2}, a);
  static_assert(std::is_same_v<decltype(list_allocated), decltype(allocated)>);
  concurrent_priority_queue copy(both);
  static_assert(std::is_same_v<decltype(copy), decltype(both)>);
  concurrent_priority_queue moved(std::move(copy), a);
  static_assert(std::is_same_v<decltype(moved), decltype(both)>);
}

// ---- exceptions

// Each construction, assignment, comparison and request fails in turn; after each failure the queue
// has what it had.
struct throwing_less {
  static inline long countdown = 0;
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    if (--countdown == 0) throw thrown();
    return a < b;
  }
};

// The same with a move constructor that does not throw: elements in the array.
struct movable : element {
  using element::element;
  movable() = default;
  movable(const movable&) = default;
  movable(movable&& other) noexcept : element(absorb(other.value)) {}
  movable& operator=(const movable&) = default;

 private:
  static int absorb(int value) {
    if (countdown == 1) ++countdown;  // the next construction that may throw does
    return value;
  }
};

template <typename T, typename Operation>
void expect_strong(Operation operate) {
  using queue = concurrent_priority_queue<T, throwing_less, counting_allocator<T>>;
  const std::vector<int> values{5, 3, 9, 1, 7, 7, 2, 8, 4, 6, 0, 5, 3, 9, 8, 2};
  std::vector<int> sorted = values;
  std::sort(sorted.rbegin(), sorted.rend());
  struct counter {
    void set(long n) const {
      if (atomic != nullptr) *atomic = n;
      if (plain != nullptr) *plain = n;
    }
    std::atomic<long>* atomic;
    long* plain;
  };
  for (const counter c : {counter{&element::countdown, nullptr},
                          {&element::assignments, nullptr},
                          {&requests::countdown, nullptr},
                          {nullptr, &throwing_less::countdown}}) {
    for (int failing = 1;; ++failing) {
      ASSERT_LT(failing, 1000);
      queue q;
      for (const int value : values) q.push(value);
      bool failed = true;
      try {
        c.set(failing);
        operate(q);
        failed = false;
      } catch (const thrown&) {
      } catch (const std::bad_alloc&) {
      }
      c.set(0);
      if (!failed) break;
      EXPECT_EQ(q.size(), values.size());
      EXPECT_EQ(drain(q), sorted);
    }
  }
}

template <typename T>
void expect_strong_operations() {
  const T value(6);
  expect_strong<T>([&](auto& q) { q.push(value); });
  expect_strong<T>([&](auto& q) { q.emplace(100); });
  expect_strong<T>([&](auto& q) {
    T result;
    q.try_pop(result);
  });
  expect_strong<T>([&](auto& q) { q.assign({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}); });
  expect_strong<T>([&](auto& q) {
    auto copy(q);
    std::decay_t<decltype(q)> moved(std::move(copy), counting_allocator<T>(2));
  });
}

TEST_F(PriorityQueue, ExceptionsChangeNothing) { expect_strong_operations<element>(); }
TEST_F(PriorityQueue, ExceptionsChangeNothingInTheArray) { expect_strong_operations<movable>(); }

// ---- threads

struct operation {
  bool pushes;
  int value = 0;
  bool result = true;
  friend std::ostream& operator<<(std::ostream& out, const operation& shown) {
    return out << (shown.pushes ? "push " : "try_pop ") << shown.value
               << (shown.result ? "" : " false");
  }
};
struct model {
  std::vector<int> sorted{};
  bool apply(const operation& o) {
    if (o.pushes) {
      sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), o.value), o.value);
      return true;
    }
    if (sorted.empty()) return !o.result;
    if (!o.result || sorted.back() != o.value) return false;
    sorted.pop_back();
    return true;
  }
  bool operator==(const model&) const = default;
};

TEST_F(PriorityQueue, HistoriesAreLinearizable) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kRounds = 500;
#else
  constexpr int kRounds = 5000;
#endif
  const std::vector<const char*> scripts{"+-+-", "-++-", "+--+"};
  std::unique_ptr<concurrent_priority_queue<int>> queue;
  history<operation> happened(3);
  std::atomic<unsigned> next{0};
  run_rounds(
      3, kRounds,
      [&] {
        happened.clear();
        queue = std::make_unique<concurrent_priority_queue<int>>();
      },
      [&](int thread) {
        for (const char* c = scripts[std::size_t(thread)]; *c != 0; ++c) {
          const operation o{*c == '+', *c == '+' ? int(++next * 2654435761U % 7) : 0};
          happened.record(thread, o, [&](operation& p) {
            if (p.pushes) return queue->push(p.value);
            p.result = queue->try_pop(p.value);
          });
        }
      },
      [&] { ASSERT_TRUE(is_linearizable(model(), happened)) << happened; });
}

TEST_F(PriorityQueue, NothingIsLostAmongThreads) {
  constexpr int kEach = 5000;
  concurrent_priority_queue<element> queue;
  std::vector<std::atomic<int>> seen(4 * kEach);
  std::atomic<int> popped{0};
  in_threads(4, [&](int thread) {
    element value;
    for (int i = 0; i < kEach; ++i) {
      queue.push(thread * kEach + i);
      if (i % 3 != 0 && queue.try_pop(value)) {
        ++seen[std::size_t(value.value)];
        ++popped;
      }
    }
  });
  EXPECT_EQ(queue.size(), std::size_t(4 * kEach - popped));
  for (const int value : drain(queue)) ++seen[std::size_t(value)];
  for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace corbel::test
