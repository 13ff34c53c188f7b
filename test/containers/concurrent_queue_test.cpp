// SPDX-License-Identifier: Apache-2.0
// What concurrent_queue and concurrent_bounded_queue have in common, by one thread: constructors,
// assignments, iterators, exceptions.
#include <tbb/concurrent_queue.h>

#include <gtest/gtest.h>

#include <forward_list>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "queue_tools.hpp"

namespace corbel::test {
namespace {

template <template <typename, typename> class Queue>
struct kind {
  template <typename T, typename A = tbb::cache_aligned_allocator<T>>
  using of = Queue<T, A>;
};

template <typename Kind>
class Queues : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(element::living, 0);
    EXPECT_EQ(requests::blocks, 0);
    element::countdown = element::assignments = requests::countdown = 0;
  }
};
using kinds = testing::Types<kind<tbb::concurrent_queue>, kind<tbb::concurrent_bounded_queue>>;
TYPED_TEST_SUITE(Queues, kinds);

template <typename Queue>
std::size_t length(const Queue& queue) {
  return std::size_t(queue.unsafe_size());
}

TYPED_TEST(Queues, MemberTypes) {
  using queue = typename TypeParam::template of<std::string>;
  static_assert(std::is_same_v<typename queue::value_type, std::string>);
  static_assert(std::is_same_v<typename queue::reference, std::string&>);
  static_assert(std::is_same_v<typename queue::const_reference, const std::string&>);
  static_assert(std::is_same_v<typename queue::pointer, std::string*>);
  static_assert(std::is_same_v<typename queue::const_pointer, const std::string*>);
  static_assert(
      std::is_same_v<typename queue::allocator_type, tbb::cache_aligned_allocator<std::string>>);
  static_assert(std::is_same_v<typename queue::difference_type, std::ptrdiff_t>);
  static_assert(std::is_convertible_v<typename queue::iterator, typename queue::const_iterator>);
  static_assert(!std::is_convertible_v<typename queue::const_iterator, typename queue::iterator>);
  static_assert(std::forward_iterator<typename queue::iterator>);
  static_assert(std::forward_iterator<typename queue::const_iterator>);
  static_assert(std::is_same_v<decltype(std::declval<queue&>() = {"a"}), queue&>);
}

TYPED_TEST(Queues, FirstInFirstOut) {
  typename TypeParam::template of<int> queue;
  EXPECT_TRUE(queue.empty());
  int next = 0;
  int value = -1;
  EXPECT_FALSE(queue.try_pop(value));
  EXPECT_EQ(value, -1);
  for (int pushed = 0; pushed < 10000;) {
    for (int i = 0; i < 700; ++i) queue.push(pushed++);
    EXPECT_EQ(length(queue), std::size_t(pushed - next));
    for (int i = 0; i < 650; ++i) {
      ASSERT_TRUE(queue.try_pop(value));
      ASSERT_EQ(value, next++);
    }
  }
  EXPECT_FALSE(queue.empty());
  while (queue.try_pop(value)) ASSERT_EQ(value, next++);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(length(queue), 0U);
}

TYPED_TEST(Queues, PushesByCopyByMoveAndInPlace) {
  typename TypeParam::template of<std::string> queue;
  const std::string copied(50, 'a');
  std::string moved(60, 'b');
  queue.push(copied);
  queue.push(std::move(moved));
  queue.emplace(70U, 'c');
  queue.emplace();
  EXPECT_EQ(std::vector<std::string>(queue.unsafe_begin(), queue.unsafe_end()),
            (std::vector{copied, std::string(60, 'b'), std::string(70, 'c'), std::string()}));
}

TYPED_TEST(Queues, ElementsThatCanOnlyBeMoved) {
  typename TypeParam::template of<std::unique_ptr<int>> queue;
  queue.push(std::make_unique<int>(1));
  queue.emplace(new int(2));
  auto other = std::move(queue);
  std::unique_ptr<int> popped;
  ASSERT_TRUE(other.try_pop(popped));
  EXPECT_EQ(*popped, 1);
}

TYPED_TEST(Queues, LargeAndAlignedElements) {
  struct alignas(128) large {
    char bytes[1500];
  };
  typename TypeParam::template of<large, std::allocator<large>> queue;
  for (int i = 0; i < 7; ++i) {
    queue.emplace();
    auto at = queue.unsafe_begin();
    for (; at != queue.unsafe_end(); ++at) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*at) % 128, 0U);
    }
  }
}

TYPED_TEST(Queues, Constructors) {
  using allocator = counting_allocator<element>;
  using queue = typename TypeParam::template of<element, allocator>;
  const queue empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(queue(allocator(7)).get_allocator().id, 7);

  const std::vector<int> values = numbers(0, 300);
  const std::forward_list<int> list(values.begin(), values.end());
  queue from_range(list.begin(), list.end());
  queue from_range_too(values.begin(), values.end(), allocator(3));
  EXPECT_EQ(from_range_too.get_allocator().id, 3);
  EXPECT_TRUE(from_range == from_range_too);
  std::istringstream text("0 1 2");
  queue from_input((std::istream_iterator<int>(text)), std::istream_iterator<int>());
  queue from_list({0, 1, 2});
  queue from_list_too({0, 1, 2}, allocator(4));
  EXPECT_TRUE(from_input == from_list);
  EXPECT_TRUE(from_list == from_list_too);
  EXPECT_TRUE(from_list != from_range);

  queue copy(from_range_too);
  EXPECT_EQ(copy.get_allocator().id, 3);
  queue copy_too(from_range_too, allocator(5));
  EXPECT_EQ(copy_too.get_allocator().id, 5);
  EXPECT_TRUE(copy == copy_too);

  queue moved(std::move(copy));
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(moved.get_allocator().id, 3);
  const element* const first = &*moved.unsafe_begin();
  queue moved_same(std::move(moved), allocator(3));
  EXPECT_EQ(&*moved_same.unsafe_begin(), first);
  queue moved_other(std::move(moved_same), allocator(6));
  EXPECT_TRUE(moved_same.empty());
  EXPECT_EQ(moved_other.get_allocator().id, 6);
  EXPECT_EQ(drain(moved_other), values);
  copy.push(1);
  EXPECT_EQ(drain(copy), numbers(1, 2));
}

template <typename Queue>
void test_assignments(bool propagates) {
  using allocator = typename Queue::allocator_type;
  const std::vector<int> values = numbers(0, 250);
  const Queue from(values.begin(), values.end(), allocator(1));
  Queue to({8, 9}, allocator(2));
  to = from;
  EXPECT_TRUE(to == from);
  EXPECT_EQ(to.get_allocator().id, propagates ? 1 : 2);
  const Queue& self = to;
  to = self;
  EXPECT_TRUE(to == from);

  Queue source(from, allocator(3));
  to = std::move(source);
  EXPECT_TRUE(to == from);
  EXPECT_TRUE(source.empty());
  EXPECT_EQ(to.get_allocator().id, propagates ? 3 : 2);

  to = {1, 2, 3};
  EXPECT_EQ(drain(to), numbers(1, 4));
  to.assign({4, 5});
  EXPECT_EQ(drain(to), numbers(4, 6));
  to.assign(values.begin(), values.end());
  EXPECT_TRUE(to == from);

  Queue other({1}, allocator(propagates ? 4 : to.get_allocator().id));
  const element* const first = &*to.unsafe_begin();
  swap(to, other);
  EXPECT_EQ(&*other.unsafe_begin(), first);
  other.swap(to);
  EXPECT_EQ(&*to.unsafe_begin(), first);
  EXPECT_EQ(drain(other), numbers(1, 2));
  to.clear();
  EXPECT_TRUE(to.empty());
  EXPECT_EQ(to.unsafe_begin(), to.unsafe_end());
  to.push(5);
  EXPECT_EQ(drain(to), numbers(5, 6));
}

TYPED_TEST(Queues, Assignments) {
  test_assignments<typename TypeParam::template of<element, counting_allocator<element>>>(false);
}
TYPED_TEST(Queues, AssignmentsWithAllocatorsThatPropagate) {
  test_assignments<typename TypeParam::template of<element, counting_allocator<element, true>>>(
      true);
}

TYPED_TEST(Queues, Iterators) {
  using queue = typename TypeParam::template of<int>;
  queue q;
  EXPECT_EQ(q.unsafe_begin(), q.unsafe_end());
  int value = 0;
  for (int i = 0; i < 500; ++i) q.push(i);
  for (int i = 0; i < 130; ++i) q.try_pop(value);
  const queue& same = q;
  EXPECT_EQ(std::vector<int>(q.unsafe_begin(), q.unsafe_end()), numbers(130, 500));
  EXPECT_EQ(std::vector<int>(same.unsafe_begin(), same.unsafe_end()), numbers(130, 500));
  EXPECT_EQ(std::vector<int>(q.unsafe_cbegin(), q.unsafe_cend()), numbers(130, 500));
  typename queue::iterator at = q.unsafe_begin();
  typename queue::const_iterator other = at;
  EXPECT_TRUE(at == other);
  EXPECT_EQ(*at++, 130);
  EXPECT_TRUE(at != other);
  other = at;
  EXPECT_EQ(*other, 131);
  *at = 7;
  q.try_pop(value);
  q.try_pop(value);
  EXPECT_EQ(value, 7);
}

TYPED_TEST(Queues, DeductionGuides) {
  using namespace tbb;
  const std::vector<int> values{1, 2};
  if constexpr (std::is_same_v<TypeParam, kind<tbb::concurrent_queue>>) {
    concurrent_queue range(values.begin(), values.end());
    static_assert(std::is_same_v<decltype(range), concurrent_queue<int>>);
    concurrent_queue allocated(values.begin(), values.end(), std::allocator<int>());
    static_assert(std::is_same_v<decltype(allocated), concurrent_queue<int, std::allocator<int>>>);
    concurrent_queue list{1.0, 2.0};
    static_assert(std::is_same_v<decltype(list), concurrent_queue<double>>);
    concurrent_queue copy(range);
    static_assert(std::is_same_v<decltype(copy), concurrent_queue<int>>);
    concurrent_queue copied(allocated, std::allocator<int>());
    static_assert(std::is_same_v<decltype(copied), concurrent_queue<int, std::allocator<int>>>);
    concurrent_queue moved(std::move(allocated), std::allocator<int>());
    static_assert(std::is_same_v<decltype(moved), concurrent_queue<int, std::allocator<int>>>);
  } else {
    concurrent_bounded_queue range(values.begin(), values.end());
    static_assert(std::is_same_v<decltype(range), concurrent_bounded_queue<int>>);
    concurrent_bounded_queue list({1, 2}, std::allocator<int>());
    static_assert(
        std::is_same_v<decltype(list), concurrent_bounded_queue<int, std::allocator<int>>>);
    concurrent_bounded_queue copy(list);
    static_assert(std::is_same_v<decltype(copy), decltype(list)>);
    concurrent_bounded_queue moved(std::move(list), std::allocator<int>());
    static_assert(std::is_same_v<decltype(moved), decltype(copy)>);
  }
}

// ---- exceptions

TYPED_TEST(Queues, ConstructorThatThrowsLosesOnlyThatPush) {
  typename TypeParam::template of<element> queue;
  std::vector<int> pushed;
  for (int i = 0; i < 1000; ++i) {
    const bool throws = i % 3 == 0 || (i > 400 && i < 700);
    const element value(i);
    element::countdown = throws ? 1 : 0;
    if (throws) {
      EXPECT_THROW(queue.push(value), thrown);
    } else {
      queue.push(value);
      pushed.push_back(i);
    }
    ASSERT_EQ(length(queue), pushed.size());
    ASSERT_EQ(queue.empty(), pushed.empty());
  }
  EXPECT_EQ(element::living, long(pushed.size()));
  std::vector<int> seen;
  for (auto at = queue.unsafe_begin(); at != queue.unsafe_end(); ++at) seen.push_back(at->value);
  EXPECT_EQ(seen, pushed);
  EXPECT_EQ(drain(queue), pushed);
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(Queues, OnlyFailedPushes) {
  typename TypeParam::template of<element> queue;
  for (int i = 0; i < 400; ++i) {
    const element value(i);
    element::countdown = 1;
    EXPECT_THROW(queue.push(value), thrown);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(length(queue), 0U);
    EXPECT_EQ(queue.unsafe_begin(), queue.unsafe_end());
  }
  element value;
  EXPECT_FALSE(queue.try_pop(value));
}

TYPED_TEST(Queues, AssignmentThatThrowsLosesOnlyThatElement) {
  typename TypeParam::template of<element> queue;
  for (int i = 0; i < 10; ++i) queue.push(i);
  element value;
  element::assignments = 4;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_pop(value));
  EXPECT_THROW(queue.try_pop(value), thrown);
  EXPECT_EQ(element::living, 1 + 6);
  EXPECT_EQ(drain(queue), numbers(4, 10));
}

TYPED_TEST(Queues, AllocationsThatFail) {
  using queue = typename TypeParam::template of<element, counting_allocator<element>>;
  for (int failing = 1; failing < 12; ++failing) {
    queue q;
    std::vector<int> pushed;
    requests::countdown = failing;
    for (int i = 0; i < 2000; ++i) {
      try {
        q.push(i);
        pushed.push_back(i);
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(length(q), pushed.size());
        // again and again: the failures leave nothing behind
        for (int again = 0; failing == 2 && again < 100000; ++again) {
          requests::countdown = 1;
          EXPECT_THROW(q.push(i), std::bad_alloc);
        }
      }
    }
    EXPECT_EQ(length(q), pushed.size());
    EXPECT_EQ(drain(q), pushed);
  }
}

// Calls make(), which copies or moves, with a failure at each construction and each request.
template <typename Make>
void with_each_failure(Make make) {
  for (std::atomic<long>* const countdown : {&element::countdown, &requests::countdown}) {
    for (int failing = 1;; ++failing) {
      *countdown = failing;
      bool failed = true;
      try {
        make();
        failed = false;
      } catch (const thrown&) {
      } catch (const std::bad_alloc&) {
      }
      *countdown = 0;
      if (!failed) break;
    }
  }
}

TYPED_TEST(Queues, ConstructorsThatThrowLeakNothing) {
  using allocator = counting_allocator<element>;
  using queue = typename TypeParam::template of<element, allocator>;
  const std::vector<int> values = numbers(0, 220);
  const queue original(values.begin(), values.end());
  const long living = element::living;
  const long blocks = requests::blocks;
  with_each_failure([&] {
    EXPECT_EQ(element::living, living);
    EXPECT_EQ(requests::blocks, blocks);
    queue copy(original);
    queue range(values.begin(), values.end());
    queue moved(std::move(range), allocator(2));
  });
  EXPECT_EQ(element::living, living);
}

TYPED_TEST(Queues, AssignmentsThatThrowChangeNothing) {
  using allocator = counting_allocator<element>;
  using queue = typename TypeParam::template of<element, allocator>;
  const std::vector<int> values = numbers(0, 220);
  const queue original(values.begin(), values.end());
  queue to({1, 2, 3}, allocator(1));
  with_each_failure([&] {
    EXPECT_EQ(length(to), 3U);
    EXPECT_EQ(to.unsafe_begin()->value, 1);
    to = original;
    EXPECT_TRUE(to == original);
    element::countdown = requests::countdown = 0;
    to = {1, 2, 3};
  });
  with_each_failure([&] {
    EXPECT_EQ(length(to), 3U);
    to.assign(values.begin(), values.end());
    EXPECT_TRUE(to == original);
    element::countdown = requests::countdown = 0;
    to = {1, 2, 3};
  });
}

TEST(ClassicQueues, NamesOfTbb2020) {
  tbb::strict_ppl::concurrent_queue<int> strict;
  strict.push(1);
  EXPECT_EQ(strict.unsafe_size(), 1U);
  tbb::deprecated::concurrent_queue<int> old;
  old.set_capacity(1);
  EXPECT_TRUE(old.push_if_not_full(1));
  EXPECT_FALSE(old.push_if_not_full(2));
  EXPECT_EQ(std::distance(old.begin(), old.end()), 1);
  int value = 0;
  EXPECT_TRUE(old.pop_if_present(value));
  EXPECT_FALSE(old.pop_if_present(value));
}

}  // namespace
}  // namespace corbel::test
