// SPDX-License-Identifier: Apache-2.0
// ends WAY: how a process ends whose workers sleep or run.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <pthread.h>
#include <unistd.h>

#include <cstring>

#include "life.hpp"

namespace {

std::atomic<long> running{0};

// Returns once a worker has taken part, so that the process has one.
void use_workers() {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2, 1);
  std::atomic<bool> has_run{false};
  arena.enqueue([&] { has_run = true; });
  wait_for([&] { return has_run.load(); });
  long sum = 0;
  tbb::task_group group;
  group.run([&] { sum += 1; });
  group.wait();
  say("used", sum);
}

[[noreturn]] void never_end() {
  ++running;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Made before the library is used, so destroyed after what the library registers.
struct UsesAtExit {
  ~UsesAtExit() {
    if (!is_wanted) return;
    std::atomic<long> count{0};
    tbb::parallel_for(0, 1000, [&](int) { ++count; });
    tbb::task_group group;
    group.run([&] { ++count; });
    group.wait();
    tbb::task_arena arena(2);
    arena.execute([&] { ++count; });
    say("after main", count);
  }
  bool is_wanted = false;
} uses_at_exit;

tbb::task_group* group_of_program;
tbb::task_arena arena_of_program;

void from_task() {
  tbb::task_group group;
  group.run([] { std::exit(5); });
  group.wait();
}

void from_worker() {
  tbb::task_arena arena(2, 1);
  arena.enqueue([] { std::exit(6); });
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void from_nested() {
  tbb::parallel_for(0, 100, [](int) {
    tbb::parallel_for(0, 100, [](int i) {
      static std::atomic<bool> is_first{true};
      if (i == 50 && is_first.exchange(false)) std::exit(7);
    });
  });
}

void with_busy_workers() {
  static tbb::task_arena arena(2, 1);
  arena.enqueue([] { never_end(); });
  wait_for([] { return running == 1; });
}

void quick() {
  std::at_quick_exit([] { say("at quick_exit", 1); });
  std::quick_exit(8);
}

// The process ends with its last thread, so neither asleep workers nor the library's own threads
// may keep it.
void leaves_main() {
  std::thread([] {
    use_workers();
    tbb::parallel_for(0, 1000, [](int) {});
    std::exit(9);
  }).detach();
  pthread_exit(nullptr);
}

void leaves_group() {
  group_of_program = new tbb::task_group;  // neither waited for nor destroyed
  for (int i = 0; i < 1000; ++i) group_of_program->run([] {});
  arena_of_program.initialize(3);
  for (int i = 0; i < 1000; ++i) arena_of_program.enqueue([] {});
}

void terminates() {
  tbb::task_arena arena(2, 1);
  arena.enqueue([] { throw 1; });  // enqueued: no caller to pass the exception to
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

int main(int, char** arguments) {
  std::set_terminate([] {
    say("terminated", 1);
    std::_Exit(42);
  });
  const char* const way = arguments[1];
  const auto is = [&](const char* name) { return std::strcmp(way, name) == 0; };
  if (is("pthread_exit")) leaves_main();
  if (is("static")) uses_at_exit.is_wanted = true;
  if (is("unused")) return 3;
  use_workers();
  if (is("asleep")) {
    // Time to fall asleep; awake ones must do no harm either.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return 4;
  }
  if (is("task")) from_task();
  if (is("worker")) from_worker();
  if (is("nested")) from_nested();
  if (is("busy")) with_busy_workers();
  if (is("busy_at_exit")) {
    with_busy_workers();
    std::exit(10);
  }
  if (is("at_exit_function")) {
    std::atexit([] {
      std::atomic<long> count{0};
      tbb::parallel_for(0, 1000, [&](int) { ++count; });
      say("in atexit", count);
    });
  }
  if (is("quick_exit")) quick();
  if (is("left_group")) leaves_group();
  if (is("terminate")) terminates();
  return 11;
}
