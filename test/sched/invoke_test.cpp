// SPDX-License-Identifier: Apache-2.0
// parallel_invoke: it calls each function once, in the given context, and passes on every
// exception.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>

#include "helped.hpp"

namespace {

int add(int from, int to) {
  if (to - from == 1) return from;
  int left = 0;
  int right = 0;
  const int middle = from + (to - from) / 2;
  tbb::parallel_invoke([&] { left = add(from, middle); }, [&] { right = add(middle, to); });
  return left + right;
}

std::atomic<int> calls{0};
void plain_function() { ++calls; }

TEST(Invoke, Recursion) { EXPECT_EQ(add(0, 20000), 199990000); }

TEST(Invoke, EveryNumberOfFunctions) {
  std::atomic<unsigned> seen{0};
  const auto f = [&](int i) { return [&seen, i] { seen += 1U << (2 * i); }; };
  const auto all = [](int n) {
    unsigned bits = 0;
    for (int i = 0; i < n; ++i) bits |= 1U << (2 * i);
    return bits;
  };
  tbb::parallel_invoke(f(0), f(1));
  EXPECT_EQ(seen.exchange(0), all(2));
  tbb::parallel_invoke(f(0), f(1), f(2));
  EXPECT_EQ(seen.exchange(0), all(3));
  tbb::parallel_invoke(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9));
  EXPECT_EQ(seen.exchange(0), all(10));
  tbb::task_group_context context;
  tbb::parallel_invoke(f(0), f(1), context);
  EXPECT_EQ(seen.exchange(0), all(2));
  tbb::parallel_invoke(f(0), f(1), f(2), context);
  EXPECT_EQ(seen.exchange(0), all(3));
  tbb::parallel_invoke(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11),
                       context);
  EXPECT_EQ(seen.exchange(0), all(12));
}

TEST(Invoke, EveryKindOfFunction) {
  struct Changing {
    int times = 0;
    std::atomic<int>* total;
    explicit Changing(std::atomic<int>* t) : total(t) {}
    int operator()() { return *total += ++times; }
  };
  std::atomic<int> total{0};
  calls = 0;
  Changing kept(&total);
  const auto constant = [&] { ++total; };
  tbb::parallel_invoke(plain_function, &plain_function, Changing(&total), kept, constant,
                       std::function<void()>(plain_function));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(total, 3);
  EXPECT_EQ(kept.times, 1);
}

TEST(Invoke, ExceptionsReachTheCaller) {
  for (int thrower = 0; thrower < 5; ++thrower) {
    for (int round = 0; round < 20; ++round) {
      const auto f = [&](int i) {
        return [=] {
          test::work_a_little();
          if (i == thrower) throw std::runtime_error(std::to_string(i));
        };
      };
      std::string caught;
      try {
        tbb::parallel_invoke(f(0), f(1), f(2), f(3), f(4));
      } catch (const std::runtime_error& e) {
        caught = e.what();
      }
      EXPECT_EQ(caught, std::to_string(thrower)) << round;
    }
  }
}

TEST(Invoke, ExceptionsOfAForkInAStolenTaskReachTheCaller) {
  std::atomic<bool> begun{false};
  const auto wait = [&] { test::wait_for([&] { return begun.load(); }); };
  const auto thrower = [&] {
    begun = true;
    throw 7;
  };
  EXPECT_THROW(tbb::parallel_invoke(wait, thrower, [] {}), int);
  begun = false;
  tbb::task_group_context context;
  EXPECT_THROW(tbb::parallel_invoke(wait, thrower, [] {}, [] {}, context), int);
  EXPECT_TRUE(context.is_group_execution_cancelled());
}

TEST(Invoke, AnExceptionCancelsTheContext) {
  for (int thrower = 0; thrower < 2; ++thrower) {
    tbb::task_group_context context;
    const auto f = [&](int i) {
      return [=] {
        if (i == thrower) throw i;
      };
    };
    EXPECT_THROW(tbb::parallel_invoke(f(0), f(1), context), int);
    EXPECT_TRUE(context.is_group_execution_cancelled());
    int called = 0;
    tbb::parallel_invoke([&] { ++called; }, [&] { ++called; }, context);
    EXPECT_EQ(called, 0);
    context.reset();
    std::atomic<int> again{0};
    tbb::parallel_invoke([&] { ++again; }, [&] { ++again; }, context);
    EXPECT_EQ(again, 2);
  }
}

TEST(Invoke, CancellationStopsFunctionsThatHaveNotBegun) {
  // One thread runs the functions in this order. Each other thread may begin only one more.
  tbb::task_group_context context;
  std::atomic<int> called{0};
  const auto count = [&] { ++called; };
  tbb::parallel_invoke([&] { context.cancel_group_execution(); },
                       [&] {
                         tbb::parallel_invoke(count, count, count, count);
                         test::wait_for([&] { return context.is_group_execution_cancelled(); });
                         called = 0;
                         tbb::parallel_invoke(count, count, count, count);
                       },
                       context);
  EXPECT_EQ(called, 0);
}

TEST(Invoke, NestedContextsAreCancelledWithTheOuterOne) {
  tbb::task_group_context outer;
  bool inner_cancelled = false;
  tbb::parallel_invoke(
      [&] {
        tbb::task_group_context inner;
        tbb::parallel_invoke([&] { outer.cancel_group_execution(); }, [] {}, inner);
        inner_cancelled = inner.is_group_execution_cancelled();
      },
      [] {}, outer);
  EXPECT_TRUE(inner_cancelled);
}

}  // namespace
