// SPDX-License-Identifier: Apache-2.0
// Forks.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "life.hpp"

namespace {

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not let the child of a fork start threads.
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

// Returns the exit code of a forked child that computes. The child has none of the library's
// threads.
template <typename Compute>
int child_code(const Compute& compute) {
  const pid_t child = fork();
  if (child == 0) {
    sigset_t alarms;  // a worker blocks them
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
    alarm(20);  // instead of hanging
    _exit(compute());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int compute_and_enqueue() {
  if (fibonacci(12) != 144) return 1;
  tbb::task_arena arena(2);
  std::atomic<bool> done{false};
  arena.enqueue([&] { done = true; });
  wait_for(done);  // makes sure that the child has a worker of its own
  tbb::task_group group;
  std::atomic<int> calls{0};
  for (int i = 0; i < 100; ++i) group.run([&] { ++calls; });
  group.wait();
  return calls == 100 ? 42 : 2;
}

TEST(Life, AForksChildComputes) {
  if (!kForks) GTEST_SKIP();
  for (int repeat = 0; repeat < 10; ++repeat) {
    EXPECT_EQ(compute_and_enqueue(), 42);
    EXPECT_EQ(child_code(&compute_and_enqueue), 42);
  }
  // In an arena that is not the thread's own.
  tbb::task_arena arena(3);
  EXPECT_EQ(arena.execute([] { return child_code(&compute_and_enqueue); }), 42);
  // In a task, while other tasks run.
  if (tbb::this_task_arena::max_concurrency() == 1) return;
  tbb::task_group group;
  std::atomic<bool> started{false}, stop{false};
  group.run([&] {
    started = true;
    wait_for(stop);
  });
  group.run([&] {
    wait_for(started);  // otherwise a worker of the child would start that task and wait forever
    EXPECT_EQ(child_code(&compute_and_enqueue), 42);
    stop = true;
  });
  group.wait();
}

// The child is a copy of the worker, and a task is suspended in it. Another worker must come for
// the task that resumes it.
TEST(Life, AForksChildIsAWorkerThatSuspends) {
  if (!kForks) GTEST_SKIP();
  tbb::task_arena forking(2, 1), resuming(2, 1);
  forking.initialize();
  resuming.initialize();
  int code = 0;
  std::atomic<bool> done{false};
  forking.enqueue([&] {
    code = child_code([&] {
      tbb::task::suspend([&](tbb::task::suspend_point point) {
        std::thread([&resuming, point] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the worker rests then
          resuming.enqueue([point] { tbb::task::resume(point); });
        }).detach();
      });
      return 42;
    });
    done = true;
  });
  wait_for(done);
  EXPECT_EQ(code, 42);
}

// The other threads are in the middle of an operation on the arena that the child goes on using.
TEST(Life, AForkMayHappenAtAnyTime) {
  if (!kForks) GTEST_SKIP();
  const auto keep_busy = [](const std::atomic<bool>& stop) {
    while (!stop) {
      tbb::this_task_arena::isolate([] { fibonacci(4); });
      tbb::task_group group;
      for (int i = 0; i < 4; ++i) tbb::this_task_arena::enqueue([] {}, group);
      group.wait();
    }
  };
  tbb::task_arena arena(4);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { arena.execute([&] { keep_busy(stop); }); });
  }
  arena.execute([&] {
    for (int repeat = 0; repeat < 200; ++repeat) {
      ASSERT_EQ(child_code([] {
                  tbb::this_task_arena::isolate([] { fibonacci(4); });
                  tbb::task_group group;
                  tbb::this_task_arena::enqueue([] {}, group);
                  group.wait();
                  return 42;
                }),
                42);
    }
  });
  stop = true;
  for (auto& t : threads) t.join();
}

TEST(Life, AForksGrandchildComputes) {
  if (!kForks) GTEST_SKIP();
  EXPECT_EQ(child_code([] { return child_code(&compute_and_enqueue); }), 42);
}

}  // namespace
