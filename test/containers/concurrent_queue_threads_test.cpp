// SPDX-License-Identifier: Apache-2.0
// concurrent_queue and concurrent_bounded_queue under several threads: short histories are
// linearizable, long ones lose nothing and keep the order of each producer, whatever throws.
#include <tbb/concurrent_queue.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <ostream>
#include <vector>

#include "linearizable.hpp"
#include "queue_tools.hpp"

namespace corbel::test {
namespace {

enum class act { kPush, kTryPush, kTryPop, kEmpty };

struct operation {
  act what;
  int value = 0;
  bool result = true;

  friend std::ostream& operator<<(std::ostream& out, const operation& shown) {
    static constexpr std::array<const char*, 4> kNames{"push ", "try_push ", "try_pop ", "empty "};
    return out << kNames[std::size_t(shown.what)] << shown.value << (shown.result ? "" : " false");
  }
};

struct model {
  std::size_t capacity = SIZE_MAX;
  std::deque<int> elements{};

  bool apply(const operation& o) {
    switch (o.what) {
      case act::kEmpty:
        return o.result == elements.empty();
      case act::kTryPop:
        if (elements.empty()) return !o.result;
        if (!o.result || elements.front() != o.value) return false;
        elements.pop_front();
        return true;
      default:
        if (elements.size() >= capacity) return o.what == act::kTryPush && !o.result;
        if (!o.result) return false;
        elements.push_back(o.value);
        return true;
    }
  }
  bool operator==(const model&) const = default;
};

// Elements of half a kibibyte: two slots in a segment, so that most operations meet an end.
struct large {
  large(int v = 0) : value(v) {}
  int value;
  char rest[600];
};
int value_of(const large& l) { return l.value; }
using test::value_of;

template <typename Queue>
void perform(Queue& queue, operation& o) {
  typename Queue::value_type value{};
  switch (o.what) {
    case act::kPush:
      queue.push(typename Queue::value_type(o.value));
      break;
    case act::kTryPush:
      if constexpr (requires { queue.capacity(); }) o.result = queue.try_push(o.value);
      break;
    case act::kTryPop:
      o.result = queue.try_pop(value);
      o.value = o.result ? value_of(value) : 0;
      break;
    case act::kEmpty:
      o.result = queue.empty();
  }
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 300;
#else
constexpr int kRounds = 3000;
#endif

// `scripts`: for each thread, '+' pushes, 't' tries to, '-' tries to pop, '0' asks whether it is
// empty.
template <typename Queue>
void check_histories(std::vector<const char*> scripts, int elements_before, int capacity = -1) {
  const int threads = int(scripts.size());
  history<operation> happened(threads);
  std::unique_ptr<Queue> queue;
  std::atomic<int> next{0};
  const auto act_of = [](char c) {
    return c == '+' ? act::kPush : c == 't' ? act::kTryPush : c == '-' ? act::kTryPop : act::kEmpty;
  };
  run_rounds(
      threads, kRounds,
      [&] {
        happened.clear();
        queue = std::make_unique<Queue>();
        if constexpr (requires { queue->capacity(); }) queue->set_capacity(capacity);
        next = 0;
        for (int i = 0; i < elements_before; ++i) {
          happened.record(0, operation{act::kPush, ++next},
                          [&](operation& o) { perform(*queue, o); });
        }
      },
      [&](int thread) {
        for (const char* c = scripts[std::size_t(thread)]; *c != 0; ++c) {
          const operation o{act_of(*c), *c == '+' || *c == 't' ? ++next : 0};
          happened.record(thread, o, [&](operation& p) { perform(*queue, p); });
        }
      },
      [&] {
        const model initial{.capacity = capacity < 0 ? SIZE_MAX : std::size_t(capacity)};
        ASSERT_TRUE(is_linearizable(initial, happened)) << happened;
      });
}

using queues =
    testing::Types<tbb::concurrent_queue<int>, tbb::concurrent_queue<large>,
                   tbb::concurrent_bounded_queue<int>, tbb::concurrent_bounded_queue<large>>;
template <typename Queue>
class QueueHistories : public testing::Test {};
TYPED_TEST_SUITE(QueueHistories, queues);

TYPED_TEST(QueueHistories, ProducerAndConsumer) { check_histories<TypeParam>({"++++", "----"}, 0); }
TYPED_TEST(QueueHistories, TwoOfEach) {
  check_histories<TypeParam>({"++", "++", "---", "--0-"}, 0);
}
TYPED_TEST(QueueHistories, Mixed) { check_histories<TypeParam>({"+-+-", "-+-+", "0-0+"}, 1); }
TYPED_TEST(QueueHistories, AlmostEmpty) { check_histories<TypeParam>({"-0-", "-+-", "--0"}, 2); }

TEST(BoundedHistories, TryPush) {
  check_histories<tbb::concurrent_bounded_queue<int>>({"ttt-", "t-t", "-t-t"}, 0, 1);
  check_histories<tbb::concurrent_bounded_queue<large>>({"ttt", "t--t", "-t0"}, 1, 2);
}

// Elements that know their producer; some of their constructors throw.
struct item {
  int producer = 0;
  int number = 0;
  static inline std::atomic<long> living{0};

  item() { ++living; }
  item(int p, int n, bool throws) : producer(p), number(n) {
    if (throws) throw thrown();
    ++living;
  }
  item(const item& other) : producer(other.producer), number(other.number) { ++living; }
  item& operator=(const item&) = default;
  ~item() { --living; }
};

template <typename Queue>
void check_order(int producers, int consumers, bool some_throw) {
  constexpr int kEach = 4000;
  {
    Queue queue;
    std::vector<std::vector<item>> popped(static_cast<std::size_t>(consumers));
    std::atomic<int> left{producers * (some_throw ? kEach - (kEach + 6) / 7 : kEach)};
    in_threads(producers + consumers, [&](int thread) {
      if (thread < producers) {
        for (int i = 0; i < kEach; ++i) {
          const bool throws = some_throw && i % 7 == 0;
          try {
            queue.emplace(thread, i, throws);
            EXPECT_FALSE(throws);
          } catch (const thrown&) {
            EXPECT_TRUE(throws);
          }
        }
        return;
      }
      std::vector<item>& mine = popped[std::size_t(thread - producers)];
      item one;
      while (left.load() > 0) {
        if (!queue.try_pop(one)) {
          std::this_thread::yield();
          continue;
        }
        --left;
        mine.push_back(one);
      }
    });
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.unsafe_size(), typename Queue::size_type(0));
    std::vector<int> seen(std::size_t(producers * kEach));
    for (const std::vector<item>& mine : popped) {
      std::vector<int> last(std::size_t(producers), -1);
      for (const item& one : mine) {
        EXPECT_GT(one.number, last[std::size_t(one.producer)]);
        last[std::size_t(one.producer)] = one.number;
        EXPECT_EQ(seen[std::size_t(one.producer * kEach + one.number)]++, 0);
      }
    }
  }
  EXPECT_EQ(item::living, 0);
}

template <typename Queue>
class QueueOrder : public testing::Test {};
using item_queues =
    testing::Types<tbb::concurrent_queue<item>, tbb::concurrent_bounded_queue<item>>;
TYPED_TEST_SUITE(QueueOrder, item_queues);

TYPED_TEST(QueueOrder, OneToOne) { check_order<TypeParam>(1, 1, false); }
TYPED_TEST(QueueOrder, ThreeToThree) { check_order<TypeParam>(3, 3, false); }
TYPED_TEST(QueueOrder, SomeConstructorsThrow) { check_order<TypeParam>(3, 2, true); }

// Each n-th request for memory fails while several threads push and pop.
TEST(QueueOrder, AllocationsFail) {
  {
    tbb::concurrent_queue<int, counting_allocator<int>> queue;
    std::atomic<long> pushed{0};
    std::atomic<long> popped{0};
    in_threads(4, [&](int thread) {
      for (int i = 0; i < 20000; ++i) {
        if (thread % 2 == 0) {
          if (i % 300 == 0) requests::countdown = 1 + i / 300 % 3;
          try {
            queue.push(i);
            ++pushed;
          } catch (const std::bad_alloc&) {
          }
        } else {
          int value;
          if (queue.try_pop(value)) ++popped;
        }
      }
    });
    requests::countdown = 0;
    EXPECT_EQ(long(queue.unsafe_size()), pushed - popped);
    EXPECT_EQ(long(drain(queue).size()), pushed - popped);
  }
  EXPECT_EQ(requests::blocks, 0);
}

}  // namespace
}  // namespace corbel::test
