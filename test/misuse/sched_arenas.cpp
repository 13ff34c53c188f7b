// SPDX-License-Identifier: Apache-2.0
// Arenas: exceptions in the functions they are given, odd sizes, and ends at odd times.
#include <corbel/global_control.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_scheduler_observer.hpp>

#include <thread>
#include <vector>

#include "sched_misuse.hpp"

namespace misuse {
namespace {

using corbel::task_arena;

void execute_throws() {
  task_arena arena(2);
  corbel::parallel_invoke([] {}, [] {});  // gives the thread a slot of its own
  const int index = task_arena::current_thread_index();
  outcome([&] {
    arena.execute([object = Object()] { corbel::parallel_invoke([] {}, [] { throw Failure(); }); });
  });
  expect(task_arena::current_thread_index() == index, "the thread is back");
  say("%d", arena.execute([] { return 7; }));
}

// There is no free slot, so another thread makes the call.
void delegated_execute_throws() {
  task_arena arena(1);
  std::atomic<bool> taken{false}, over{false};
  std::thread other([&] {
    arena.execute([&] {
      taken = true;
      while (!over) corbel::parallel_invoke([] { std::this_thread::yield(); }, [] {});
    });
  });
  while (!taken) std::this_thread::yield();
  std::thread late([&] {
    test::wait_for([] { return false; }, 30);
    over = true;
  });
  outcome([&] { arena.execute([object = Object()] { throw Failure(); }); });
  late.join();
  other.join();
}

void enqueue_throws() {
  task_arena arena(2);
  arena.enqueue([] { throw std::runtime_error("nobody waits"); });
  test::wait_for([] { return false; }, 20000);
}

void enqueue_in_group_throws() {
  task_arena arena(2);
  corbel::task_group group;
  arena.enqueue(group.defer([object = Object()] { throw Failure(); }));
  outcome([&] { arena.wait_for(group); });
}

void isolate_throws() {
  outcome([] {
    corbel::this_task_arena::isolate([object = Object()] {
      corbel::parallel_invoke([] { test::work_a_little(); }, [] { throw Failure(); });
    });
  });
  say("%d", corbel::this_task_arena::isolate([] { return 7; }));
}

void three_deep() {
  task_arena outer(2), middle(3), inner(1);
  std::atomic<int> calls{0};
  const auto leaf = [&] {
    const Object object;
    ++calls;
    throw Failure();
  };
  const auto in_inner = [&] { inner.execute([&] { corbel::parallel_invoke(leaf, leaf); }); };
  const auto in_middle = [&] {
    middle.execute([&] { corbel::parallel_invoke(in_inner, in_inner, in_inner); });
  };
  corbel::parallel_invoke([] {}, [] {});
  const int index = task_arena::current_thread_index();
  outcome([&] { outer.execute([&] { corbel::parallel_invoke(in_middle, in_middle); }); });
  expect(calls > 0, "the innermost function was called");
  expect(task_arena::current_thread_index() == index, "the thread is back");
}

// From the innermost arena into the outermost again. This thread holds its only slot itself, so
// another thread makes the call.
void round_and_round() {
  task_arena a(1), b(1);
  int depth = 0;
  struct Turn {
    task_arena &a, &b;
    int& depth;
    void operator()() const {
      if (++depth == 3) throw Failure("three deep");
      (depth % 2 == 0 ? a : b).execute(*this);
    }
  };
  outcome([&] { a.execute(Turn{a, b, depth}); });
}

// Many threads at the same time, in one arena and in their own.
void crowd() {
  constexpr int kThreads = 1000;
  task_arena arena(3);
  std::atomic<int> calls{0}, caught{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto call = [&calls] { ++calls; };
      if (i % 2 == 0) corbel::parallel_invoke(call, call);
      try {
        arena.execute([&] {
          const Object object;
          if (i % 10 == 0) throw Failure();
          corbel::parallel_invoke(call, call);
        });
      } catch (const Failure&) {
        ++caught;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  say("%d calls, %d failures", int(calls), int(caught));
}

void initialized_twice() {
  task_arena arena(1);
  arena.initialize(2);
  arena.initialize(3);
  say("%d", arena.max_concurrency());
  arena.terminate();
  arena.terminate();
  say("%s", arena.is_active() ? "active" : "not active");
  say("%d", arena.execute([] { return corbel::this_task_arena::max_concurrency(); }));
}

void odd_sizes() {
  for (const int width : {0, -1, -2, -1000}) {
    task_arena arena(width, 0);
    expect(arena.max_concurrency() >= 1, "an invalid size counts as the default");
    expect(arena.execute([] { return corbel::this_task_arena::max_concurrency(); }) >= 1, "inside");
  }
  task_arena all_reserved(2, 100);
  std::atomic<int> calls{0};
  const auto call = [&calls] { ++calls; };
  all_reserved.execute([&] { corbel::parallel_invoke(call, call, call); });
  task_arena wide(100000);
  wide.execute([&] { corbel::parallel_invoke(call, call, call); });
  say("%d calls", int(calls));
}

void terminated_with_tasks() {
  std::atomic<int> calls{0};
  {
    task_arena arena(2);
    for (int i = 0; i < 500; ++i) {
      arena.enqueue([&calls, object = Object()] {
        test::work_a_little();
        ++calls;
      });
      if (i % 50 == 0) arena.terminate();
    }
  }
  test::wait_for([&] { return calls == 500 && balance.alive == 0; }, 20000);
  say("%d calls", int(calls));
}

void control_of_zero() {
  using corbel::global_control;
  outcome([] { global_control(global_control::max_allowed_parallelism, 0); });
  outcome([] { global_control(global_control::parameter(7), 1); });
  expect(global_control::active_value(global_control::max_allowed_parallelism) > 0, "as before");
}

void controlled_exception() {
  corbel::global_control control(corbel::global_control::terminate_on_exception, 1);
  corbel::task_group group;
  group.run([] { throw std::runtime_error("on the way"); });
  outcome([&] { group.wait(); });
}

void finalized_inside() {
  corbel::task_scheduler_handle handle{corbel::attach()};
  corbel::parallel_invoke([&] { outcome([&] { corbel::finalize(handle); }); }, [] {});
  corbel::parallel_invoke([] {}, [] {});
  corbel::task_scheduler_handle another{corbel::attach()};
  outcome([&] { corbel::finalize(another); });
  outcome([&] { corbel::finalize(another); });
}

void observer_throws() {
  struct Throws : corbel::task_scheduler_observer {
    ~Throws() override { observe(false); }
    // Only once, because two threads that terminate at the same time garble each other's output.
    void on_scheduler_entry(bool) override {
      if (!thrown.exchange(true)) throw std::runtime_error("on entry");
    }
    std::atomic<bool> thrown{false};
  } observer;
  corbel::parallel_invoke([] {}, [] {});
  observer.observe();
  corbel::parallel_invoke([] {}, [] {});
}

// Observers are destroyed while threads enter and leave.
void observers_go() {
  struct Counts : corbel::task_scheduler_observer {
    Object object;
    std::atomic<int> inside{0};
    explicit Counts(corbel::task_arena& arena) : task_scheduler_observer(arena) { observe(); }
    ~Counts() override {
      observe(false);
      expect(inside == 0, "no thread is in the observer's functions");
    }
    void on_scheduler_entry(bool) override {
      ++inside;
      test::work_a_little();
      --inside;
    }
  };
  task_arena arena(3);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) arena.execute([] { corbel::parallel_invoke([] {}, [] {}, [] {}); });
  });
  for (int i = 0; i < 200; ++i) {
    const Counts counts(arena);
    arena.execute([] { corbel::parallel_invoke([] {}, [] {}, [] {}); });
  }
  over = true;
  other.join();
  say("all gone");
}

}  // namespace

extern const Case arena_cases[];
const Case arena_cases[] = {{"arena-execute-throws", execute_throws},
                            {"arena-delegated-execute-throws", delegated_execute_throws},
                            {"arena-enqueue-throws", enqueue_throws},
                            {"arena-enqueue-in-group-throws", enqueue_in_group_throws},
                            {"arena-isolate-throws", isolate_throws},
                            {"arena-three-deep", three_deep},
                            {"arena-round-and-round", round_and_round},
                            {"arena-crowd", crowd},
                            {"arena-initialized-twice", initialized_twice},
                            {"arena-odd-sizes", odd_sizes},
                            {"arena-terminated-with-tasks", terminated_with_tasks},
                            {"observer-throws", observer_throws},
                            {"observers-go", observers_go},
                            {"control-of-zero", control_of_zero},
                            {"control-of-exceptions", controlled_exception},
                            {"control-finalized-inside", finalized_inside},
                            {nullptr, nullptr}};

}  // namespace misuse
