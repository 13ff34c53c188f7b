// SPDX-License-Identifier: Apache-2.0
// Combining (include/corbel/detail/aggregator.hpp): each operation is handled once, by one thread
// at a time, and its thread sees the result. No thread sleeps forever.
#include <corbel/detail/aggregator.hpp>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

template <int kSpins, int kBatches>
struct System : Kernel<kSpins> {
  static constexpr int kMaxBatches = kBatches;
};

// Each thread adds to a sum, `times` times.
template <int kSpins, int kBatches>
struct Adds : Test {
  explicit Adds(std::array<int, 3> times) : times(times) {}

  using UnderTest = detail::basic_aggregator<Atomic, System<kSpins, kBatches>>;
  UnderTest aggregator;  // its word is location 0
  const std::array<int, 3> times;
  Var<int> sum;
  int executed = 0;

  struct Add : UnderTest::operation {
    Var<int> handled;
  };
  std::array<std::array<Add, 2>, 3> adds;
  Add last;

  void run(int thread) override {
    for (int i = 0; i < times[std::size_t(thread)]; ++i) {
      Add& op = adds[std::size_t(thread)][std::size_t(i)];
      aggregator.execute(op, [this](typename UnderTest::operation* list) {
        while (list != nullptr) {
          Add& add = static_cast<Add&>(*list);
          list = list->next();
          sum.set(sum.get() + 1);
          add.handled.set(add.handled.get() + 1);
          add.finish();
        }
      });
      check(op.handled.get() == 1, "an operation is not handled once");
      ++executed;
    }
  }

  void finish() override {
    int found = 0;
    aggregator.execute(last, [&](typename UnderTest::operation* list) {
      check(list == &last && list->next() == nullptr, "the object is not idle");
      found = sum.get();
      list->finish();
    });
    check(found == executed, "an operation is lost");
  }
};

using Times = std::array<int, 3>;

TEST(Aggregator, TwoThreads) { EXPECT_SOUND((explore<Adds<1, 2>>(2, nullptr, Times{2, 1, 0}))); }
TEST(Aggregator, ThreeThreads) { EXPECT_SOUND((explore<Adds<0, 2>>(3, nullptr, Times{1, 1, 1}))); }
TEST(Aggregator, LeadIsPassed) { EXPECT_SOUND((explore<Adds<0, 1>>(3, nullptr, Times{1, 1, 1}))); }

// ---- mutants: each must fail -----------------------------------------------------------------

// Changes the order of the steps on the aggregator's word (location 0) or on the operations'.
Mutation weaken(bool word, Op op, std::memory_order from, std::memory_order to) {
  return [=](Step& step) {
    if ((step.location == 0) == word && step.op == op && step.order == from) step.order = to;
  };
}

TEST(AggregatorMutant, LeaderDoesNotSeeTheLast) {
  EXPECT_BROKEN((explore<Adds<0, 2>>(2, weaken(true, Op::kCompareExchange, acquire, relaxed),
                                     Times{1, 1, 0})),
                "data race");
}

// Both the push and the end of the lead release.
TEST(AggregatorMutant, WordDoesNotRelease) {
  EXPECT_BROKEN((explore<Adds<0, 2>>(2, weaken(true, Op::kCompareExchange, release, relaxed),
                                     Times{1, 1, 0})),
                "data race");
}

TEST(AggregatorMutant, LeaderDoesNotSeeThePushes) {
  EXPECT_BROKEN(
      (explore<Adds<0, 2>>(2, weaken(true, Op::kExchange, acquire, relaxed), Times{1, 1, 0})),
      "deadlock");  // the pushing thread's own store comes after the leader's (3)
}

TEST(AggregatorMutant, ResultIsNotPublished) {
  EXPECT_BROKEN(
      (explore<Adds<0, 2>>(2, weaken(false, Op::kExchange, release, relaxed), Times{1, 1, 0})),
      "data race");
}

TEST(AggregatorMutant, ResultIsNotSeen) {
  EXPECT_BROKEN(
      (explore<Adds<1, 2>>(2, weaken(false, Op::kLoad, acquire, relaxed), Times{1, 1, 0})),
      "data race");
}

// A thread sleeps without saying so.
TEST(AggregatorMutant, WaiterDoesNotAnnounceItself) {
  const Mutation quiet = [](Step& step) {
    if (step.location != 0 && step.op == Op::kCompareExchange) step.operand = step.expected;
    if (step.op == Op::kWait) step.expected = 0;
  };
  EXPECT_BROKEN((explore<Adds<0, 2>>(2, quiet, Times{1, 1, 0})), "deadlock");
}

// The leader ends without looking for operations that were pushed meanwhile.
TEST(AggregatorMutant, LeaderForgetsThePushed) {
  const Mutation forgetful = [](Step& step) {
    if (step.location == 0 && step.op == Op::kCompareExchange && step.order == release &&
        step.operand == 0) {
      step.op = Op::kStore;
    }
  };
  EXPECT_BROKEN((explore<Adds<0, 2>>(2, forgetful, Times{1, 1, 0})), "deadlock");
}

}  // namespace
}  // namespace corbel::model
