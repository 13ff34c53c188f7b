// SPDX-License-Identifier: Apache-2.0
// A producer that is about to claim a slot of a bounded queue while the queue leaves the segment
// and comes back to it, with as many claims: its compare-and-swap succeeds, on another slot.
#include <corbel/detail/bounded_core.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace corbel::test {
namespace {

// What happens before the next compare-and-swap that may fail: a producer's claim.
std::function<void()> before_claim;

template <typename T>
struct interrupted_atomic : std::atomic<T> {
  using std::atomic<T>::atomic;
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    if (const auto interrupt = std::exchange(before_claim, nullptr)) interrupt();
    return std::atomic<T>::compare_exchange_strong(expected, desired, success, failure);
  }
};

struct two_slots : detail::queue_system {
  template <typename T>
  static constexpr unsigned slots() {
    return 2;
  }
};

struct queue {
  using elements_type =
      detail::segment_queue<int, std::allocator<int>, interrupted_atomic, two_slots>;
  using core_type = detail::bounded_core<elements_type, interrupted_atomic, two_slots>;

  explicit queue(int capacity) { core.set_capacity(elements, capacity); }

  bool try_push(int value, bool fails = false) {
    elements_type::slot claimed;
    if (!core.try_claim(elements, claimed)) return false;
    core_type::push_end at_end(core, elements, claimed);
    if (fails) {
      elements.give_up(claimed);
    } else {
      elements.complete(claimed, value);
      at_end.is_made = true;
    }
    return true;
  }
  // Returns 0 if there is no element.
  int try_pop() {
    elements_type::slot claimed;
    int value = 0;
    if (core.try_claim_element(elements, claimed)) elements.remove(claimed, value);
    return value;
  }
  std::ptrdiff_t slots_in_use() const {
    return std::ptrdiff_t(elements.tail_position() - elements.head_position());
  }

  elements_type elements{std::allocator<int>()};
  core_type core;
};

TEST(QueueReuse, AClaimWithoutRoomIsGivenUp) {
  queue q(1);
  ASSERT_TRUE(q.try_push(1));
  ASSERT_EQ(q.try_pop(), 1);
  before_claim = [&] {  // the rest of the segment, the next one, and the first slot of this one
    for (const int value : {2, 3, 4}) {
      ASSERT_TRUE(q.try_push(value));
      ASSERT_EQ(q.try_pop(), value);
    }
    ASSERT_TRUE(q.try_push(5));
  };
  EXPECT_FALSE(q.try_push(6));
  EXPECT_EQ(q.slots_in_use(), 2) << "the claim has not met another segment";
  EXPECT_EQ(q.core.size(q.elements), 1);
  EXPECT_FALSE(q.try_push(7));
  EXPECT_EQ(q.try_pop(), 5);
  EXPECT_TRUE(q.try_push(8));
  EXPECT_EQ(q.try_pop(), 8);
  EXPECT_EQ(q.try_pop(), 0);
}

// The producer's own slot is no element before it.
TEST(QueueReuse, AClaimWithRoomSucceedsBesideASlotWithoutElement) {
  queue q(2);
  ASSERT_TRUE(q.try_push(1));
  ASSERT_EQ(q.try_pop(), 1);
  before_claim = [&] {
    for (const int value : {2, 3}) {
      ASSERT_TRUE(q.try_push(value));
      ASSERT_EQ(q.try_pop(), value);
    }
    ASSERT_TRUE(q.try_push(4));
    ASSERT_TRUE(q.try_push(5, true));
  };
  EXPECT_TRUE(q.try_push(6));
  EXPECT_EQ(q.slots_in_use(), 3) << "the claim has not met another segment";
  EXPECT_EQ(q.try_pop(), 4);
  EXPECT_EQ(q.try_pop(), 6);
  EXPECT_EQ(q.try_pop(), 0);
}

}  // namespace
}  // namespace corbel::test
