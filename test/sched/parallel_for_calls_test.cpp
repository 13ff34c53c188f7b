// SPDX-License-Identifier: Apache-2.0
// parallel_for: all overloads; helping threads, copies, exceptions, cancellation, nesting.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <corbel/detail/tbb_task.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "loops.hpp"

namespace {

using test::for_each_partitioner;
using test::for_each_tail;
using test::Marks;
using test::StrictRange;
using Range = tbb::blocked_range<int>;

// ---- overloads ----------------------------------------------------------------------------------

TEST(ParallelForCalls, Overloads) {
  int calls = 0;
  for_each_tail([&](auto&&... tail) {
    Marks range(100);
    tbb::parallel_for(
        Range(0, 100),
        [&](const Range& r) {
          for (int i : std::vector<int>{r.begin()}) {
            for (; i != r.end(); ++i) range(std::size_t(i));
          }
        },
        tail...);
    EXPECT_EQ(range.first_wrong(), range.size());
    Marks numbers(100);
    tbb::parallel_for(0, 100, [&](int i) { numbers(std::size_t(i)); }, tail...);
    EXPECT_EQ(numbers.first_wrong(), numbers.size());
    Marks steps(100);
    tbb::parallel_for(0, 200, 2, [&](int i) { steps(std::size_t(i / 2)); }, tail...);
    EXPECT_EQ(steps.first_wrong(), steps.size());
    EXPECT_THROW(tbb::parallel_for(0, 10, 0, [](int) {}, tail...), std::invalid_argument);
    EXPECT_THROW(tbb::parallel_for(10, 0, -1, [](int) {}, tail...), std::invalid_argument);
    ++calls;
  });
  EXPECT_EQ(calls, 10);
}

TEST(ParallelForCalls, UnsignedStepOfZero) {
  EXPECT_THROW(tbb::parallel_for(0U, 10U, 0U, [](unsigned) {}), std::invalid_argument);
}

struct Slice {
  int begin, end;
  std::atomic<int>* sum;
  Slice(int b, int e, std::atomic<int>& s) : begin(b), end(e), sum(&s) {}
  Slice(Slice& whole, tbb::split)
      : begin((whole.begin + whole.end) / 2), end(whole.end), sum(whole.sum) {
    whole.end = begin;
  }
  bool empty() const { return begin == end; }
  bool is_divisible() const { return end - begin > 1; }
  void add() const { *sum += end - begin; }
};

TEST(ParallelForCalls, MemberFunctions) {
  std::atomic<int> sum{0};
  tbb::parallel_for(Slice(0, 100, sum), &Slice::add);
  EXPECT_EQ(sum, 100);
}

// A body may change its argument, and only has to be copyable.
struct OnlyCopied {
  std::atomic<int>* sum;
  explicit OnlyCopied(std::atomic<int>& s) : sum(&s) {}
  OnlyCopied(const OnlyCopied&) = default;
  OnlyCopied& operator=(const OnlyCopied&) = delete;
  void operator()(Range& r) const { *sum += int(r.size()); }
};

TEST(ParallelForCalls, BodiesThatCanOnlyBeCopied) {
  for_each_partitioner([](auto&& partitioner) {
    std::atomic<int> sum{0};
    tbb::parallel_for(Range(0, 1000), OnlyCopied(sum), partitioner);
    EXPECT_EQ(sum, 1000);
  });
}

struct alignas(256) WideBody {
  std::atomic<int>* misplaced;
  void operator()(const Range&) const {
    if (reinterpret_cast<std::uintptr_t>(this) % 256 != 0) ++*misplaced;
    test::work_a_little();
  }
};

TEST(ParallelForCalls, BodiesOfLargeAlignment) {
  std::atomic<int> misplaced{0};
  tbb::parallel_for(Range(0, 100), WideBody{&misplaced}, tbb::simple_partitioner());
  EXPECT_EQ(misplaced, 0);
}

// ---- help ---------------------------------------------------------------------------------------

TEST(ParallelForCalls, OthersHelpABusyThread) {
  if (!test::has_worker()) GTEST_SKIP() << "one processor";
  for_each_partitioner([](auto&& partitioner) {
    // The first number waits for one in the other half, which another thread has to run then.
    std::atomic<bool> done{false};
    std::atomic<bool> helped{false};
    tbb::parallel_for(
        0, 64,
        [&](int i) {
          if (i == 32) done = true;
          if (i == 0) helped = test::wait_for([&] { return done.load(); }, 10'000);
        },
        partitioner);
    EXPECT_TRUE(helped);
  });
}

TEST(ParallelForCalls, TheRestIsSharedAgain) {
  if (!test::has_worker()) GTEST_SKIP() << "one processor";
  // Another thread takes the right half and finishes at once. Then it must get all that this thread
  // has kept for itself, except the piece that is being run.
  std::atomic<int> others{0};
  const auto self = std::this_thread::get_id();
  const auto body = [&](int i) {
    if (std::this_thread::get_id() != self) {
      ++others;
    } else if (i == 0 || i == 40) {
      test::wait_for([&] { return others >= (i == 0 ? 100 : 650); }, 20000);
    }
  };
  tbb::parallel_for(0, 1000, body, tbb::simple_partitioner());
  EXPECT_GT(others, 600);
  others = 0;
  tbb::parallel_for(0, 1000, body, tbb::auto_partitioner());
  EXPECT_GT(others, 600);
  others = 0;
  StrictRange::Shared shared;
  tbb::parallel_for(
      StrictRange(shared, 0, 1000, 1), [&](const StrictRange& r) { body(r.begin()); },
      tbb::simple_partitioner());
  EXPECT_GT(others, 600);
}

// Returns how many of 1024 numbers run in the slot that expected(number) names, in the best of
// many runs: a thread that does not get a processor loses part of its share to the others. Without
// the second thread each range of a run waits for it, so the time of all runs is limited.
template <typename Partitioner, typename Prepare, typename Expected>
int best_of_runs(Partitioner&& partitioner, const Prepare& prepare, const Expected& expected) {
  int best = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int run = 0; run < 300 && best < 900 && std::chrono::steady_clock::now() < end; ++run) {
    prepare();
    std::atomic<int> kept{0};
    std::atomic<unsigned> here{0};
    tbb::parallel_for(
        Range(0, 1024),
        [&](const Range& r) {
          const int slot = corbel::detail::current_slot_index();
          here |= 1U << slot;
          test::wait_for([&] { return here == 3; }, 200);
          test::work_a_little();
          for (int i = r.begin(); i != r.end(); ++i) kept += expected(i) == slot;
        },
        partitioner);
    best = std::max(best, kept.load());
  }
  return best;
}

TEST(ParallelForCalls, PartsGoToTheirSlots) {
  if (test::width() != 2) GTEST_SKIP() << "written for two processors";
  EXPECT_GE(best_of_runs(tbb::static_partitioner(), [] {}, [](int i) { return i / 512; }), 900);
  // Force a distribution that does not arise by itself.
  tbb::affinity_partitioner affinity;
  auto& map = corbel::detail::affinity_access::map(affinity);
  map.prepare(2);
  const auto cells = int(map.cells());
  const auto expected = [](int i) { return i < 200 || i >= 700 ? 1 : 0; };
  const auto prepare = [&] {
    for (int i = 0; i < cells; ++i) map.slots()[i] = std::uint16_t(expected(i * 1024 / cells));
  };
  EXPECT_GE(best_of_runs(affinity, prepare, expected), 900);
  // The partitioner remembers which slot ran each piece.
  std::vector<int> owner(1024);
  tbb::parallel_for(
      Range(0, 1024),
      [&](const Range& r) {
        test::work_a_little();
        for (int i = r.begin(); i != r.end(); ++i) {
          owner[std::size_t(i)] = corbel::detail::current_slot_index();
        }
      },
      affinity);
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(owner[std::size_t(i)], map.slots()[i * cells / 1024]);
}

// ---- copies -------------------------------------------------------------------------------------

struct CountedBody {
  test::Counted counted;
  std::atomic<int>* sum;
  void operator()(const Range& r) const {
    *sum += int(r.size());
    if (r.begin() % 8 == 0) test::work_a_little();
  }
};

TEST(ParallelForCalls, CopiesAreDestroyedOnce) {
  for_each_partitioner([](auto&& partitioner) {
    test::Balance balance;
    {
      std::atomic<int> sum{0};
      const CountedBody body{test::Counted(balance), &sum};
      for (int i = 0; i < 5; ++i) tbb::parallel_for(Range(0, 200), body, partitioner);
      EXPECT_EQ(sum, 1000);
      EXPECT_EQ(balance.alive, 1);
      // One copy for each piece that was stolen or mailed, far fewer than calls.
      EXPECT_LT(balance.made, 400);
    }
    EXPECT_EQ(balance.alive, 0);
  });
}

// ---- exceptions ---------------------------------------------------------------------------------

TEST(ParallelForCalls, ExceptionsOfBodies) {
  for_each_partitioner([](auto&& partitioner) {
    for (const int bad : {0, 1, 17, 50, 98, 99}) {
      test::Balance balance;
      std::string what;
      try {
        const test::Counted counted(balance);
        tbb::parallel_for(
            0, 100,
            [&, counted](int i) {
              if (i % 16 == 0) test::work_a_little();
              if (i == bad) throw std::runtime_error(std::to_string(i));
            },
            partitioner);
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      EXPECT_EQ(what, std::to_string(bad));
      EXPECT_EQ(balance.alive, 0);
    }
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 100, [&](int) { ++calls; }, partitioner);
    EXPECT_EQ(calls, 100);  // the loop works again
  });
}

TEST(ParallelForCalls, NothingBeginsAfterAnException) {
  for (const bool alone : {false, true}) {
    std::atomic<int> calls{0};
    EXPECT_THROW(tbb::parallel_for(
                     0, 1'000'000,
                     [&](int i) {
                       ++calls;
                       if (alone || i == 0) throw 1;
                       test::work_a_little();
                     },
                     tbb::simple_partitioner()),
                 int);
    EXPECT_LT(calls, 10'000);
  }
}

struct ThrowingCopy {
  ThrowingCopy() = default;
  ThrowingCopy(const ThrowingCopy&) { throw std::domain_error("copy"); }
  void operator()(const Range&) const { test::work_a_little(); }
};

TEST(ParallelForCalls, ExceptionsOfCopies) {
  if (!test::has_worker()) GTEST_SKIP() << "nobody copies";
  const ThrowingCopy body;
  int thrown = 0;
  for (int i = 0; i < 1000 && thrown < 5; ++i) {
    try {
      tbb::parallel_for(Range(0, 100), body, tbb::simple_partitioner());
    } catch (const std::domain_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 5);
}

TEST(ParallelForCalls, ExceptionsOfSplits) {
  for_each_partitioner([](auto&& partitioner) {
    for (int at = 1; at < 40; ++at) {
      StrictRange::Shared shared;
      shared.throw_at = at;
      bool thrown = false;
      try {
        tbb::parallel_for(StrictRange(shared, 0, 1000, 10), [](const StrictRange&) {}, partitioner);
      } catch (const std::length_error&) {
        thrown = true;
      }
      EXPECT_EQ(thrown, shared.splits >= at);
      EXPECT_EQ(shared.balance.alive, 0);
    }
  });
}

// ---- cancellation -------------------------------------------------------------------------------

TEST(ParallelForCalls, CancelledBefore) {
  for_each_partitioner([](auto&& partitioner) {
    tbb::task_group_context context;
    context.cancel_group_execution();
    tbb::parallel_for(0, 10, [](int) { FAIL(); }, partitioner, context);
    context.reset();
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 10, [&](int) { ++calls; }, partitioner, context);
    EXPECT_EQ(calls, 10);
  });
}

// After a cancellation each thread may have begun one call, and none begins another.
template <typename Loop>
void check_cancellation(const Loop& loop) {
  tbb::task_group_context context;
  std::atomic<bool> cancelled{false};
  std::atomic<int> late{0};
  loop(context, [&](bool first) {
    const bool was = cancelled;
    if (was) ++late;
    if (first) {
      context.cancel_group_execution();
      cancelled = true;
    } else {
      test::work_a_little();
    }
  });
  EXPECT_TRUE(context.is_group_execution_cancelled());
  // These threads checked just before the cancellation.
  EXPECT_LE(late, int(test::width()));
}

TEST(ParallelForCalls, CancelledInTheMiddle) {
  for (int i = 0; i < 20; ++i) {
    check_cancellation([](tbb::task_group_context& context, const auto& step) {
      tbb::parallel_for(
          Range(0, 10'000), [&](const Range& r) { step(r.begin() == 3); },
          tbb::simple_partitioner(), context);
    });
    check_cancellation([](tbb::task_group_context& context, const auto& step) {
      tbb::parallel_for(
          Range(0, 10'000), [&](const Range& r) { step(r.begin() <= 3 && 3 < r.end()); }, context);
    });
    check_cancellation([](tbb::task_group_context& context, const auto& step) {
      StrictRange::Shared shared;
      tbb::parallel_for(
          StrictRange(shared, 0, 10'000, 1), [&](const StrictRange& r) { step(r.begin() == 3); },
          tbb::simple_partitioner(), context);
    });
  }
}

TEST(ParallelForCalls, TheOuterContextCancelsIt) {
  tbb::task_group_context context;
  std::atomic<int> late{0};
  tbb::parallel_for(
      0, 2,
      [&](int) {
        context.cancel_group_execution();
        tbb::parallel_for(0, 1000, [&](int) { ++late; });
      },
      tbb::simple_partitioner(), context);
  EXPECT_EQ(late, 0);
}

// ---- nesting ------------------------------------------------------------------------------------

TEST(ParallelForCalls, Nested) {
  for_each_partitioner([](auto&& partitioner) {
    Marks marks(40 * 50);
    tbb::parallel_for(
        0, 40,
        [&](int i) {
          tbb::affinity_partitioner affinity;
          tbb::parallel_for(0, 50, [&](int j) { marks(std::size_t(i * 50 + j)); }, affinity);
        },
        partitioner);
    EXPECT_EQ(marks.first_wrong(), marks.size());
  });
}

TEST(ParallelForCalls, IsolatedLoopsKeepToThemselves) {
  // While a thread waits for an inner loop it runs no piece of the outer one.
  thread_local bool inside = false;
  std::atomic<int> mixed{0};
  tbb::parallel_for(
      0, 100,
      [&](int) {
        if (inside) ++mixed;
        inside = true;
        tbb::this_task_arena::isolate([] {
          tbb::parallel_for(0, 8, [](int) { test::work_a_little(); }, tbb::simple_partitioner());
        });
        inside = false;
      },
      tbb::simple_partitioner());
  EXPECT_EQ(mixed, 0);
}

TEST(ParallelForCalls, TasksThatABodySpawnsWithoutWaiting) {
  // Those tasks are above the loop's own tasks in the deque.
  tbb::task_group group;
  std::atomic<int> spawned{0};
  Marks marks(500);
  tbb::parallel_for(
      0, 500,
      [&](int i) {
        marks(std::size_t(i));
        group.run([&] { ++spawned; });
      },
      tbb::simple_partitioner());
  group.wait();
  EXPECT_EQ(marks.first_wrong(), marks.size());
  EXPECT_EQ(spawned, 500);
}

TEST(ParallelForCalls, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20; ++i) {
        for_each_partitioner([](auto&& partitioner) {
          std::atomic<int> sum{0};
          tbb::parallel_for(0, 300, [&](int k) { sum += k; }, partitioner);
          EXPECT_EQ(sum, 300 * 299 / 2);
        });
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
