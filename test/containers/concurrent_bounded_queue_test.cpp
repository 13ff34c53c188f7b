// SPDX-License-Identifier: Apache-2.0
// concurrent_bounded_queue: the capacity, waiting, abort.
#include <tbb/concurrent_queue.h>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "queue_tools.hpp"

namespace corbel::test {
namespace {

using queue = tbb::concurrent_bounded_queue<int>;

template <typename Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

TEST(BoundedQueue, MemberTypes) {
  static_assert(std::is_same_v<queue::size_type, std::ptrdiff_t>);
  static_assert(std::is_same_v<decltype(std::declval<queue&>().try_emplace(1)), bool>);
}

TEST(BoundedQueue, NoLimitAtFirst) {
  queue q;
  EXPECT_GT(q.capacity(), 1'000'000'000'000);
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(q.try_push(i));
  EXPECT_EQ(q.size(), 5000);
}

TEST(BoundedQueue, Capacity) {
  queue q;
  for (const int capacity : {1, 2, 100, 1000}) {
    q.set_capacity(capacity);
    EXPECT_EQ(q.capacity(), capacity);
    for (int i = 0; i < capacity; ++i) EXPECT_TRUE(q.try_push(i));
    EXPECT_EQ(q.size(), capacity);
    EXPECT_FALSE(q.try_push(0));
    EXPECT_FALSE(q.try_emplace(0));
    EXPECT_EQ(drain(q), numbers(0, capacity));
  }
  q.set_capacity(0);
  EXPECT_FALSE(q.try_push(1));
  q.set_capacity(-1);
  EXPECT_GT(q.capacity(), 1'000'000'000'000);
  EXPECT_TRUE(q.try_push(1));
}

// What claim_within asks lets other operations come between its look at the tail and its claim.
struct large {
  std::uint64_t word[75];  // two slots in a segment
};
using segments = detail::segment_queue<large, tbb::cache_aligned_allocator<large>>;

TEST(BoundedQueue, TailThatComesBackHasAnotherNumber) {
  segments q{tbb::cache_aligned_allocator<large>()};
  static_assert(segments::slots() == 2);
  const auto push = [&](std::uint64_t value) { q.complete(q.claim(), large{{value}}); };
  const auto pop = [&] {
    segments::slot claimed;
    if (!q.claim_element(claimed)) return std::uint64_t(0);
    large result{};
    q.remove(claimed, result);
    return result.word[0];
  };
  for (const bool has_room_then : {false, true}) {
    push(1);
    ASSERT_EQ(pop(), 1U);
    std::vector<std::size_t> asked;
    segments::slot claimed;
    const segments::limited result = q.claim_within(claimed, [&](std::size_t elements_now) {
      if (asked.empty()) {
        for (std::uint64_t i = 2; i < 5; ++i) {
          push(i);
          EXPECT_EQ(pop(), i);
        }
        push(5);
      }
      asked.push_back(elements_now);
      return asked.size() == 1 || has_room_then;
    });
    EXPECT_GE(asked.size(), 2U) << "the segment is another one";
    EXPECT_TRUE(has_room_then || asked.back() == 1);
    EXPECT_EQ(result, has_room_then ? segments::limited::kClaimed : segments::limited::kSurplus);
    if (has_room_then) {
      q.complete(claimed, large{{6}});
    } else {
      q.give_up(claimed);
    }
    EXPECT_EQ(q.size(), has_room_then ? 2U : 1U);
    EXPECT_EQ(pop(), 5U);
    EXPECT_EQ(pop(), has_room_then ? 6U : 0U);
    EXPECT_TRUE(q.empty());
  }
}

TEST(BoundedQueue, LowerCapacityKeepsTheElements) {
  queue q{1, 2, 3};
  q.set_capacity(2);
  EXPECT_EQ(q.size(), 3);
  EXPECT_FALSE(q.try_push(4));
  int value = 0;
  EXPECT_TRUE(q.try_pop(value));
  EXPECT_FALSE(q.try_push(4));
  EXPECT_TRUE(q.try_pop(value));
  EXPECT_TRUE(q.try_push(4));
  EXPECT_EQ(drain(q), numbers(3, 5));
}

TEST(BoundedQueue, CopiesHaveTheCapacity) {
  queue q{1};
  q.set_capacity(7);
  queue copy(q);
  EXPECT_EQ(copy.capacity(), 7);
  queue moved(std::move(copy));
  EXPECT_EQ(moved.capacity(), 7);
  queue assigned;
  assigned = q;
  EXPECT_EQ(assigned.capacity(), 7);
  queue other;
  swap(other, assigned);
  EXPECT_EQ(other.capacity(), 7);
  EXPECT_GT(assigned.capacity(), 7);
  EXPECT_TRUE(assigned.empty());
}

TEST(BoundedQueue, FailedPushesTakeNoRoom) {
  tbb::concurrent_bounded_queue<element> q;
  q.set_capacity(1);
  const element value(1);
  for (int i = 0; i < 500; ++i) {
    element::countdown = 1;
    EXPECT_THROW(q.push(value), thrown);
    element::countdown = 1;
    EXPECT_THROW(q.try_push(value), thrown);
  }
  EXPECT_EQ(q.size(), 0);
  q.push(value);
  EXPECT_FALSE(q.try_push(value));
  EXPECT_EQ(q.size(), 1);
  EXPECT_EQ(drain(q), numbers(1, 2));
}

TEST(BoundedQueue, PopWaitsForAPush) {
  queue q;
  std::thread consumer([&] {
    int value = 0;
    for (int i = 0; i < 3; ++i) {
      q.pop(value);
      EXPECT_EQ(value, i);
    }
  });
  for (int i = 0; i < 3; ++i) {
    wait_until([&] { return q.size() == -1; });
    EXPECT_TRUE(q.empty());
    q.push(i);
  }
  consumer.join();
  EXPECT_EQ(q.size(), 0);
}

TEST(BoundedQueue, SizeCountsWaitingThreads) {
  queue q;
  std::thread consumers([&] {
    in_threads(3, [&](int) {
      int value = 0;
      q.pop(value);
    });
  });
  wait_until([&] { return q.size() == -3; });
  for (int i = 0; i < 3; ++i) q.push(i);
  consumers.join();

  q.set_capacity(1);
  q.push(0);
  std::thread producers([&] { in_threads(2, [&](int) { q.push(0); }); });
  wait_until([&] { return q.size() == 3; });
  int value = 0;
  for (int i = 0; i < 3; ++i) q.pop(value);
  producers.join();
  EXPECT_EQ(q.size(), 0);
}

TEST(BoundedQueue, PushWaitsForRoom) {
  queue q;
  q.set_capacity(2);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      q.push(i);
      ++pushed;
    }
  });
  wait_until([&] { return q.size() == 3; });
  EXPECT_EQ(pushed, 2);
  int value = 0;
  for (int i = 0; i < 1000; ++i) {
    q.pop(value);
    EXPECT_EQ(value, i);
  }
  producer.join();
}

TEST(BoundedQueue, CapacityOfZeroHandsOver) {
  queue q;
  q.set_capacity(0);
  EXPECT_FALSE(q.try_push(1));
  std::thread consumer([&] {
    int value = 0;
    for (int i = 0; i < 300; ++i) {
      q.pop(value);
      EXPECT_EQ(value, i);
    }
  });
  for (int i = 0; i < 300; ++i) q.push(i);
  consumer.join();
  EXPECT_FALSE(q.try_push(1));
}

TEST(BoundedQueue, LargerCapacityWakesProducers) {
  queue q;
  q.set_capacity(0);
  std::thread producers([&] { in_threads(3, [&](int i) { q.push(i); }); });
  wait_until([&] { return q.size() == 3; });
  q.set_capacity(3);
  producers.join();
  EXPECT_EQ(q.size(), 3);

  std::thread more([&] { in_threads(3, [&](int i) { q.emplace(i); }); });
  wait_until([&] { return q.size() == 6; });
  q.set_capacity(-1);
  more.join();
  EXPECT_EQ(drain(q).size(), 6U);
}

// The push that waits goes on when one that has the last place fails.
struct slow_to_throw {
  slow_to_throw() = default;
  slow_to_throw(std::atomic<bool>& begun, std::atomic<bool>& may_throw) {
    begun = true;
    wait_until([&] { return may_throw.load(); });
    throw thrown();
  }
};
TEST(BoundedQueue, FailedPushMakesRoom) {
  tbb::concurrent_bounded_queue<slow_to_throw> q;
  q.set_capacity(1);
  std::atomic<bool> begun{false};
  std::atomic<bool> may_throw{false};
  std::thread failing([&] { EXPECT_THROW(q.emplace(begun, may_throw), thrown); });
  wait_until([&] { return begun.load(); });
  std::thread waiting([&] { q.emplace(); });
  wait_until([&] { return q.size() == 2; });
  may_throw = true;
  failing.join();
  waiting.join();
  EXPECT_EQ(q.size(), 1);
}

// ---- abort

TEST(BoundedQueue, AbortWithoutWaitingThreads) {
  queue q{1};
  q.abort();
  int value = 0;
  q.pop(value);
  q.push(2);
  EXPECT_EQ(q.size(), 1);
}

TEST(BoundedQueue, AbortEndsAllWaits) {
  queue q;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> aborted{0};
    std::thread consumers([&] {
      in_threads(3, [&](int) {
        int value = 7;
        try {
          q.pop(value);
        } catch (const tbb::user_abort& e) {
          EXPECT_STRNE(e.what(), "");
          EXPECT_EQ(value, 7);
          ++aborted;
        }
      });
    });
    wait_until([&] { return q.size() == -3; });
    q.abort();
    consumers.join();
    EXPECT_EQ(aborted, 3);
    EXPECT_EQ(q.size(), 0);

    q.set_capacity(1);
    q.push(1);
    std::thread producers([&] {
      in_threads(3, [&](int i) {
        if (i == 0) {
          EXPECT_THROW(q.push(2), tbb::user_abort);
        } else {
          EXPECT_THROW(q.emplace(2), tbb::user_abort);
        }
      });
    });
    wait_until([&] { return q.size() == 4; });
    q.abort();
    producers.join();
    EXPECT_EQ(q.size(), 1);
    EXPECT_EQ(drain(q), numbers(1, 2));
    q.set_capacity(-1);
  }
}

// Threads that are aborted start again, while others push and pop: nothing is lost and no thread
// sleeps forever.
TEST(BoundedQueue, AbortAmongPushesAndPops) {
  constexpr int kEach = 2000;
  for (const int capacity : {0, 1, 5, -1}) {
    queue q;
    q.set_capacity(capacity);
    std::atomic<int> pushed{0};
    std::atomic<int> popped{0};
    std::atomic<long> sum{0};
    std::atomic<bool> done{false};
    std::thread aborting([&] {
      while (!done) {
        q.abort();
        std::this_thread::yield();
      }
    });
    in_threads(6, [&](int thread) {
      for (int i = 0; i < kEach;) {
        try {
          if (thread % 2 == 0) {
            q.push(i);
            ++pushed;
          } else {
            int value = 0;
            q.pop(value);
            sum += value;
            ++popped;
          }
          ++i;
        } catch (const tbb::user_abort&) {
        }
      }
    });
    done = true;
    aborting.join();
    EXPECT_EQ(pushed, popped);
    EXPECT_EQ(sum, 3L * kEach * (kEach - 1) / 2);
    EXPECT_EQ(q.size(), 0);
  }
}

// Each element reports when it is in the queue: made by a push, destroyed by a pop.
struct inside {
  static inline std::atomic<int> count{0};
  static inline std::atomic<int> most{0};
  bool counts = false;

  inside() = default;
  explicit inside(int) : counts(true) {
    const int now = ++count;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) { return *this; }
  ~inside() { count -= counts ? 1 : 0; }
};

TEST(BoundedQueue, CapacityHoldsAmongThreads) {
  constexpr int kConsumers = 2;
  for (const int capacity : {1, 2, 7}) {
    tbb::concurrent_bounded_queue<inside> q;
    q.set_capacity(capacity);
    inside::most = 0;
    std::atomic<int> left{6000};
    in_threads(3 + kConsumers, [&](int thread) {
      if (thread < 3) {
        for (int i = 0; i < 2000; ++i) {
          if (thread != 0) {
            q.emplace(i);
          } else {
            while (!q.try_emplace(i)) std::this_thread::yield();
          }
        }
        return;
      }
      inside value;
      while (left-- > 0) q.pop(value);
    });
    // A consumer makes room before it destroys the element.
    EXPECT_LE(inside::most, capacity + kConsumers);
    EXPECT_EQ(inside::count, 0);
    EXPECT_EQ(q.size(), 0);
  }
}

}  // namespace
}  // namespace corbel::test
