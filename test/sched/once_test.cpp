// SPDX-License-Identifier: Apache-2.0
// collaborative_call_once: one call succeeds, all threads see it, and a waiting thread helps with
// that call only.
#include <gtest/gtest.h>
#include <tbb/collaborative_call_once.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "helped.hpp"

namespace {

template <typename F>
void in_threads(int n, const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST(Once, IsCalledOnce) {
  for (int round = 0; round < 200; ++round) {
    tbb::collaborative_once_flag flag;
    int calls = 0;
    std::atomic<int> wrong{0};
    in_threads(4, [&](int) {
      tbb::collaborative_call_once(flag, [&] {
        std::vector<int> items(10);
        std::atomic<int> sum{0};
        tbb::parallel_for_each(items, [&](int) { ++sum; });
        calls += sum;
      });
      if (calls != 10) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(calls, 10);
  }
}

void set(int& where, std::unique_ptr<int> what) { where = *what; }

TEST(Once, PassesArgumentsOn) {
  tbb::collaborative_once_flag flag;
  int number = 0;
  tbb::collaborative_call_once(flag, set, number, std::make_unique<int>(7));
  EXPECT_EQ(number, 7);
  tbb::collaborative_call_once(flag, set, number, std::make_unique<int>(8));
  EXPECT_EQ(number, 7);
  struct Changing {
    int times = 0;
    void operator()() { ++times; }
  };
  tbb::collaborative_once_flag other;
  Changing f;
  tbb::collaborative_call_once(other, f);
  EXPECT_EQ(f.times, 1);
}

// Each item of the call waits until every calling thread runs one.
TEST(Once, WaitersHelp) {
  constexpr int kThreads = 2;
  tbb::collaborative_once_flag flag;
  std::atomic<int> at_work{0};
  std::atomic<int> entered{0};
  std::mutex lock;
  std::set<std::thread::id> helpers;
  tbb::task_arena arena(kThreads, kThreads);
  in_threads(kThreads, [&](int) {
    arena.execute([&] {
      ++entered;
      tbb::collaborative_call_once(flag, [&] {
        test::wait_for([&] { return entered == kThreads; }, 20000);
        const std::vector<int> items(kThreads);
        tbb::parallel_for_each(items, [&](int) {
          ++at_work;
          EXPECT_TRUE(test::wait_for([&] { return at_work == kThreads; }, 20000));
          const std::lock_guard<std::mutex> guard(lock);
          helpers.insert(std::this_thread::get_id());
        });
      });
    });
  });
  // The arena has slots for these threads only.
  EXPECT_EQ(helpers.size(), static_cast<std::size_t>(kThreads));
}

// Two threads call from different arenas. The waiter moves to the arena of the call.
TEST(Once, WaitersFromAnotherArenaHelp) {
  tbb::collaborative_once_flag flag;
  std::atomic<int> at_work{0};
  std::atomic<int> entered{0};
  tbb::task_arena first(2, 2);
  tbb::task_arena second(1, 1);
  tbb::task_arena* const arenas[] = {&first, &second};
  std::atomic<bool> first_has_it{false};
  in_threads(2, [&](int i) {
    if (i == 1) test::wait_for([&] { return first_has_it.load(); }, 20000);
    arenas[i]->execute([&] {
      ++entered;
      tbb::collaborative_call_once(flag, [&] {
        first_has_it = true;
        const std::vector<int> items(2);
        tbb::parallel_for_each(items, [&](int) {
          ++at_work;
          EXPECT_TRUE(test::wait_for([&] { return at_work == 2; }, 20000));
        });
      });
      EXPECT_EQ(tbb::this_task_arena::max_concurrency(), i == 0 ? 2 : 1);
    });
  });
}

// A thread that finds no free slot there still waits.
TEST(Once, WaitersWithoutASlotWait) {
  tbb::collaborative_once_flag flag;
  tbb::task_arena narrow(1, 1);
  std::atomic<bool> begun{false};
  int calls = 0;
  in_threads(3, [&](int i) {
    const auto call = [&] {
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++calls;
    };
    if (i == 0) {
      narrow.execute([&] { tbb::collaborative_call_once(flag, call); });
    } else {
      test::wait_for([&] { return begun.load(); }, 20000);
      tbb::collaborative_call_once(flag, call);
    }
    EXPECT_EQ(calls, 1);
  });
}

thread_local bool in_once = false;

TEST(Once, WaitersRunNothingElse) {
  std::atomic<int> astray{0};
  for (int round = 0; round < 20; ++round) {
    tbb::collaborative_once_flag flag;
    const std::vector<int> items(40);
    tbb::parallel_for_each(items, [&](int) {
      // This is an item of this loop, not of the call's.
      if (in_once) ++astray;
      test::work_a_little();
      in_once = true;
      tbb::collaborative_call_once(flag, [&] {
        const std::vector<int> inner(10);
        tbb::parallel_for_each(inner, [&](int) { test::work_a_little(); });
      });
      in_once = false;
    });
  }
  EXPECT_EQ(astray, 0);
}

TEST(Once, AnExceptionLeavesItUncalled) {
  for (int round = 0; round < 50; ++round) {
    tbb::collaborative_once_flag flag;
    std::atomic<int> tries{0};
    std::atomic<int> thrown{0};
    std::atomic<int> succeeded{0};
    in_threads(4, [&](int) {
      try {
        tbb::collaborative_call_once(flag, [&] {
          const int attempt = ++tries;
          const std::vector<int> items(5);
          tbb::parallel_for_each(items, [&](int) {
            if (attempt < 3) throw std::runtime_error("not yet");
          });
          ++succeeded;
        });
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    });
    EXPECT_EQ(tries, 3);
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(succeeded, 1);
  }
}

TEST(Once, IsNotCancelledWithTheCallersGroup) {
  tbb::collaborative_once_flag flag;
  tbb::task_group_context context;
  std::atomic<int> done{0};
  tbb::parallel_invoke(
      [&] {
        tbb::collaborative_call_once(flag, [&] {
          context.cancel_group_execution();
          const std::vector<int> items(10);
          tbb::parallel_for_each(items, [&](int) { ++done; });
        });
      },
      [] {}, context);
  EXPECT_EQ(done, 10);
}

TEST(Once, OneCallNeedsAnother) {
  tbb::collaborative_once_flag inner, outer;
  std::atomic<int> calls{0};
  in_threads(4, [&](int i) {
    const auto call_inner = [&] {
      tbb::collaborative_call_once(
          inner, [&] { tbb::parallel_invoke([&] { ++calls; }, [&] { ++calls; }); });
    };
    if (i % 2 == 0) {
      call_inner();
    } else {
      tbb::collaborative_call_once(outer, [&] {
        tbb::parallel_invoke(call_inner, call_inner);
        ++calls;
      });
    }
  });
  EXPECT_EQ(calls, 3);
}

}  // namespace
