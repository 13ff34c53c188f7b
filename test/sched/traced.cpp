// SPDX-License-Identifier: Apache-2.0
// A program for trace.py: a recursion of known shape in which two bodies always run at the same
// time.
#include <corbel/detail/suspend.hpp>
#include <corbel/global_control.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_group.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "system.hpp"

namespace {

void work_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// 2^depth leaves of 1 ms: much work, and a span of little more than one leaf.
void tree(int depth) {
  if (depth == 0) return work_for(std::chrono::milliseconds(1));
  corbel::parallel_invoke([&] { tree(depth - 1); }, [&] { tree(depth - 1); });
}

void meet() {
  std::atomic<int> come{0};
  const auto body = [&] {
    ++come;
    while (come < 2) std::this_thread::yield();
  };
  corbel::parallel_invoke(body, body);
}

// Joins a fork while a later fork on another stack of the thread has not joined. Prints how many ms
// it took from the run of the first task to the wait for it.
void suspended() {
  using corbel::detail::resume;
  using corbel::detail::suspend_point;
  const corbel::global_control alone(corbel::global_control::max_allowed_parallelism, 1);
  suspend_point first = nullptr, second = nullptr;
  corbel::task_group tasks;
  const auto begin = std::chrono::steady_clock::now();
  tasks.run([&] {
    corbel::parallel_invoke(
        [&] {
          auto tell = [&](suspend_point point) {
            second = point;
            resume(first);
          };
          corbel::detail::suspend_with(tell);
        },
        [] { work_for(std::chrono::milliseconds(20)); });
  });
  corbel::parallel_invoke(
      [&] {
        auto tell = [&](suspend_point point) { first = point; };
        corbel::detail::suspend_with(tell);
        work_for(std::chrono::milliseconds(20));
      },
      [] { work_for(std::chrono::milliseconds(20)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  resume(second);
  tasks.wait();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.3f\n", took.count());
}

// Threads one after the other. Prints by how many bytes the process has grown after the first ones.
void short_threads() {
  const auto run = [](int threads) {
    for (int i = 0; i < threads; ++i)
      std::thread([] { corbel::parallel_invoke([] {}, [] {}); }).join();
  };
  run(20);
  const std::size_t before = test::process_memory().mapped;
  run(180);
  const std::size_t after = test::process_memory().mapped;
  std::printf("%zu\n", after > before ? after - before : 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "suspended") == 0) {
    suspended();
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "short_threads") == 0) {
    short_threads();
    return 0;
  }
  const bool fork_too = argc > 1 && std::strcmp(argv[1], "fork") == 0;
  meet();
  tree(5);
  if (fork_too) {
    const pid_t child = fork();
    if (child == 0) {
      tree(2);
      return 0;  // through exit(), like the parent
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  return 0;
}
