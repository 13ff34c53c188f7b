// SPDX-License-Identifier: Apache-2.0
// controls [alone]: global_control, nested and out of order, and collaborative_call_once; or, in a
// process of its own, a limit of one thread.
#include <tbb/collaborative_call_once.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <pthread.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "meeting.hpp"

namespace {

using Control = tbb::global_control;

long active(Control::parameter p) { return long(Control::active_value(p)); }

// The greatest number of threads at a time in a loop.
long at_a_time() {
  std::atomic<long> inside{0}, most{0};
  tbb::parallel_for(0, 2000, [&](int) {
    const long now = ++inside;
    long before = most;
    while (now > before && !most.compare_exchange_weak(before, now)) {
    }
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    --inside;
  });
  return most;
}

// Before there are workers: one that still searches takes part for a moment after the limit is set.
void alone() {
  const Control one(Control::max_allowed_parallelism, 1);
  say("alone", at_a_time());
}

void parallelism() {
  const long usual = active(Control::max_allowed_parallelism);
  say("usual", usual == tbb::info::default_concurrency());
  {
    const Control three(Control::max_allowed_parallelism, 3);
    say("three", active(Control::max_allowed_parallelism));
    const Control two(Control::max_allowed_parallelism, 2);
    say("two", active(Control::max_allowed_parallelism));
    const Control more(Control::max_allowed_parallelism, 100);
    say("the least counts", active(Control::max_allowed_parallelism));
    say("no more than two", at_a_time() <= 2);
    auto one = std::make_unique<Control>(Control::max_allowed_parallelism, 1);
    say("one", active(Control::max_allowed_parallelism));
    one.reset();
    say("two again", active(Control::max_allowed_parallelism));
    // A worker must take part, or these tasks wait without end.
    tbb::task_arena arena(2);
    say("with a worker", meet(arena, 2));
  }
  say("usual again", active(Control::max_allowed_parallelism) == usual);
  // Not in the order of a stack.
  auto first = std::make_unique<Control>(Control::max_allowed_parallelism, 2);
  auto second = std::make_unique<Control>(Control::max_allowed_parallelism, 1);
  first.reset();
  say("the second is left", active(Control::max_allowed_parallelism));
  second.reset();
  say("none is left", active(Control::max_allowed_parallelism) == usual);
}

void more_than_processors() {
  const Control eight(Control::max_allowed_parallelism, 8);
  say("eight", active(Control::max_allowed_parallelism));
  // All eight at the same time.
  tbb::task_arena arena(8);
  say("inside", meet(arena, 8));
}

std::size_t own_stack() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* address;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &address, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

// First of all, since workers keep the stacks that they have.
void stack_size() {
  constexpr std::size_t kSize = 16 << 20;
  const Control size(Control::thread_stack_size, kSize);
  say("stack", active(Control::thread_stack_size));
  const Control less(Control::thread_stack_size, 1 << 20);
  say("the greatest counts", active(Control::thread_stack_size));
  std::atomic<std::size_t> seen{0};
  tbb::task_arena arena(2, 1);
  arena.enqueue([&] { seen = own_stack(); });
  wait_for([&] { return seen != 0; });
  say("a worker's is as large", seen >= kSize);
}

void terminates() {
  say("terminate_on_exception", active(Control::terminate_on_exception));
  {
    const Control control(Control::terminate_on_exception, 1);
    say("terminate_on_exception", active(Control::terminate_on_exception));
  }
  say("terminate_on_exception", active(Control::terminate_on_exception));
}

void once() {
  tbb::collaborative_once_flag flag;
  std::atomic<long> calls{0}, bodies{0};
  tbb::parallel_for(0, 100, [&](int) {
    tbb::collaborative_call_once(flag, [&] {
      ++calls;
      tbb::parallel_for(0, 100, [&](int) { ++bodies; });
    });
    if (bodies != 100) say("came back early", bodies);
  });
  say("calls", calls);
  tbb::collaborative_once_flag fails;
  std::atomic<long> attempts{0}, failures{0};
  tbb::parallel_for(0, 20, [&](int) {
    try {
      tbb::collaborative_call_once(fails, [&] {
        if (++attempts < 4) throw std::runtime_error("not yet");
      });
    } catch (const std::runtime_error&) {
      ++failures;
    }
  });
  say("attempts", attempts);
  // Those that waited for a failed attempt may get its exception too, or try again.
  say("failures", failures >= 3);
  std::vector<std::thread> threads;
  tbb::collaborative_once_flag shared;
  std::atomic<long> by_threads{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      tbb::collaborative_call_once(shared,
                                   [&] { tbb::parallel_for(0, 1000, [&](int) { ++by_threads; }); });
      if (by_threads != 1000) say("a thread came back early", by_threads);
    });
  }
  for (std::thread& t : threads) t.join();
  say("by threads", by_threads);
}

void of_threads() {
  tbb::enumerable_thread_specific<long> local(0L);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { tbb::parallel_for(0, 100, [&](int) { ++local.local(); }); });
  }
  for (std::thread& t : threads) t.join();
  say("of threads", local.combine([](long a, long b) { return a + b; }));
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    alone();
    return 0;
  }
  stack_size();
  parallelism();
  more_than_processors();
  terminates();
  once();
  of_threads();
  return 0;
}
