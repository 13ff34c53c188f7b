// SPDX-License-Identifier: Apache-2.0
// Enqueued tasks run though no thread waits for them, and arenas of higher priority come first.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <memory>
#include <string>
#include <vector>

#include "life.hpp"

namespace {

using Priority = tbb::task_arena::priority;

void in_widths() {
  for (int width = 1; width < 4; ++width) {
    for (unsigned reserved = 0; reserved < 2; ++reserved) {
      tbb::task_arena arena(width, reserved);
      std::atomic<long> count{0};
      for (int i = 0; i < 100; ++i) arena.enqueue([&] { ++count; });
      wait_for([&] { return count == 100; });
      arena.enqueue([&] {
        tbb::parallel_for(0, 100, [&](int) { ++count; });
        arena.enqueue([&] { ++count; });
      });
      wait_for([&] { return count == 201; });
      say("width", width);
    }
  }
}

void with_one_thread_allowed() {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(2, 1);
  std::atomic<long> count{0};
  arena.enqueue([&] { ++count; });
  wait_for([&] { return count == 1; });
  say("with one thread allowed", count);
}

void by_threads() {
  tbb::task_arena arena(2, 1);
  std::atomic<long> count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) arena.enqueue([&] { ++count; });
      tbb::this_task_arena::enqueue([&] { ++count; });  // in the thread's own arena, and it ends
    });
  }
  for (std::thread& t : threads) t.join();
  wait_for([&] { return count == 8 * 51; });
  say("by threads that end", count);
}

void longer_than_arena() {
  // Static, because a task may run until the end of main.
  static std::atomic<long> count{0};
  for (int i = 0; i < 20; ++i) {
    tbb::task_arena arena(1 + i % 3, i % 2);
    for (int k = 0; k < 20; ++k) arena.enqueue([] { ++count; });
  }
  wait_for([] { return count == 400; });
  say("longer than the arena", count);
}

void from_tasks() {
  std::atomic<long> count{0};
  tbb::task_arena one(1), two(2);
  tbb::parallel_for(0, 100, [&](int i) {
    (i % 2 == 0 ? one : two).enqueue([&] { two.execute([&] { ++count; }); });
    tbb::this_task_arena::enqueue([&] { ++count; });
  });
  wait_for([&] { return count == 200; });
  say("from tasks", count);
}

void with_handles() {
  tbb::task_arena arena(1);
  tbb::task_group group;
  std::atomic<long> count{0};
  for (int i = 0; i < 50; ++i) arena.enqueue(group.defer([&] { ++count; }));
  arena.execute([&] { group.wait(); });
  say("with handles", count);
  tbb::this_task_arena::enqueue(group.defer([&] { ++count; }));
  group.wait();
  say("here", count);
}

// Captures with destructors: the task is destroyed once it has run.
void destroys() {
  const auto owned = std::make_shared<std::atomic<long>>(0);
  tbb::task_arena arena(1);
  for (int i = 0; i < 50; ++i) arena.enqueue([owned] { ++*owned; });
  wait_for([&] { return owned.use_count() == 1; });
  say("destroyed", *owned);
}

// First of all, so that no other worker is left of an earlier use. The only one is held until tasks
// of all priorities wait; then it takes the urgent ones first.
void by_priority() {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  // Made, by the first enqueue, in an order that is neither that of the priorities nor its
  // opposite.
  tbb::task_arena high(2, 1, Priority::high), low(2, 1, Priority::low),
      normal(2, 1, Priority::normal);
  std::atomic<bool> is_held{false}, may_go_on{false};
  tbb::task_arena holder(2, 1);
  holder.enqueue([&] {
    is_held = true;
    wait_for([&] { return may_go_on.load(); });
  });
  wait_for([&] { return is_held.load(); });
  std::mutex guard;
  std::string order;
  std::atomic<long> count{0};
  const auto note = [&](char c) {
    const std::lock_guard<std::mutex> lock(guard);
    order += c;
    ++count;
  };
  for (int i = 0; i < 3; ++i) {
    high.enqueue([&] { note('h'); });
    low.enqueue([&] { note('l'); });
    normal.enqueue([&] { note('n'); });
  }
  may_go_on = true;
  wait_for([&] { return count == 9; });
  const std::lock_guard<std::mutex> lock(guard);  // the last task may still hold it
  say("by priority", order.c_str());
}

// A task in an arena of low priority is left for the urgent arena, and taken up again.
void interrupts_nothing() {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena low(2, 1, Priority::low), high(2, 1, Priority::high);
  std::atomic<long> lows{0}, highs{0};
  low.enqueue([&] {
    for (int i = 0; i < 50; ++i) {
      high.enqueue([&] { ++highs; });
      low.enqueue([&] { ++lows; });
    }
  });
  wait_for([&] { return lows == 50 && highs == 50; });
  say("of both", lows + highs);
}

}  // namespace

int main() {
  by_priority();
  in_widths();
  with_one_thread_allowed();
  by_threads();
  longer_than_arena();
  from_tasks();
  with_handles();
  destroys();
  interrupts_nothing();
  return 0;
}
