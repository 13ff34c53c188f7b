// SPDX-License-Identifier: Apache-2.0
// Threads that start and end, and the end of the process.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "life.hpp"
#include "system.hpp"

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(Life, ThreadsThatEndLeaveNothing) {
  const auto run = [](int threads) {
    for (int i = 0; i < threads; ++i) {
      std::thread([] { EXPECT_EQ(fibonacci(3), 2); }).join();
    }
  };
  run(500);
  const std::size_t before = test::process_memory().resident;
  run(kSanitized ? 500 : 10'000);
  // An arena takes some KiB. If they leaked, it would be tens of MiB. glibc's malloc makes an arena
  // of its own for a thread that meets another one in it.
  if (!kSanitized) {
    EXPECT_LT(test::process_memory().resident, before + (16 << 20));
  }
}

TEST(Life, ManyThreadsAtOnce) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::atomic<int> sum{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < (kSanitized ? 100 : 1000); ++i) {
      threads.emplace_back([&] {
        wait_for(go);
        sum += fibonacci(5);
      });
    }
    go = true;
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum, 5 * int(threads.size()));
  }
}

TEST(LifeDeathTest, TheProcessEndsWhileTasksRun) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        static std::atomic<int> begun{0};
        static tbb::task_arena arena(4);  // destroyed at exit
        for (int i = 0; i < 100; ++i) {
          arena.enqueue([] {
            ++begun;
            for (;;) std::this_thread::yield();
          });
        }
        while (begun == 0) std::this_thread::yield();
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(LifeDeathTest, StaticObjectsUseTheLibrary) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        struct Late {
          ~Late() {
            if (fibonacci(10) != 55) std::abort();
          }
        };
        static Late late;
        fibonacci(10);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

std::atomic<int> sum_of_ends{0};

TEST(Life, ThreadsUseTheLibraryAtTheirEnd) {
  // Without data: MinGW's gcc frees thread-local variables before it destroys them (its PR 83562).
  struct AtExit {
    AtExit() {}
    ~AtExit() { sum_of_ends += fibonacci(6); }
  };
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      thread_local AtExit at_exit;
      static_cast<void>(&at_exit);
      fibonacci(4);
    }).join();
  }
  EXPECT_EQ(sum_of_ends, 50 * 8);
}

TEST(Life, ContinuesAfterFinalize) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    tbb::task_scheduler_handle handle{tbb::attach()};
    EXPECT_EQ(fibonacci(12), 144);
    std::atomic<int> calls{0};
    tbb::task_arena arena(2);
    for (int i = 0; i < 10; ++i) arena.enqueue([&] { ++calls; });
    tbb::finalize(handle);
    while (calls != 10) std::this_thread::yield();
  }
}

}  // namespace
