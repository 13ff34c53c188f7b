// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace {

class Counter : public tbb::task_scheduler_observer {
 public:
  using tbb::task_scheduler_observer::task_scheduler_observer;
  ~Counter() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    ++(is_worker ? workers_in : callers_in);
    ++here;
  }
  void on_scheduler_exit(bool is_worker) override {
    ++(is_worker ? workers_out : callers_out);
    --here;
  }
  std::atomic<int> workers_in{0}, callers_in{0}, workers_out{0}, callers_out{0};
  static thread_local int here;
};
thread_local int Counter::here = 0;

TEST(Observer, SeesCallersAndWorkers) {
  tbb::task_arena arena(2);
  {
    Counter counter(arena);
    EXPECT_FALSE(counter.is_observing());
    counter.observe();
    EXPECT_TRUE(counter.is_observing());
    EXPECT_EQ(Counter::here, 0);
    for (int i = 1; i <= 3; ++i) {
      arena.execute([&] {
        EXPECT_EQ(Counter::here, 1);
        EXPECT_EQ(counter.callers_in, i);
        arena.execute([&] { EXPECT_EQ(counter.callers_in, i); });
      });
      EXPECT_EQ(counter.callers_out, i);
    }
    std::atomic<bool> done{false};
    arena.enqueue([&] {
      EXPECT_GE(counter.workers_in, 1);
      done = true;
    });
    while (!done) std::this_thread::yield();
    EXPECT_GE(counter.workers_in, 1);
    while (counter.workers_in != counter.workers_out) std::this_thread::yield();
    counter.observe(false);
    EXPECT_FALSE(counter.is_observing());
    arena.execute([] {});
    EXPECT_EQ(counter.callers_in, 3);
  }
  arena.execute([] {});
}

TEST(Observer, OfTheArenaOfItsThread) {
  Counter counter;
  counter.observe();
  EXPECT_EQ(counter.callers_in, 1);
  tbb::task_arena other(2);
  other.execute([&] { EXPECT_EQ(counter.callers_in, 1); });
  std::thread([] { tbb::parallel_invoke([] {}, [] {}); }).join();
  EXPECT_EQ(counter.callers_in, 1);
  counter.observe(false);
  Counter::here = 0;
}

TEST(Observer, OfAllThreads) {
  Counter counter(/*local=*/false);
  counter.observe();
  const int before = counter.callers_in;
  std::thread([&] {
    tbb::parallel_invoke([] {}, [] {});
    EXPECT_EQ(counter.callers_in, before + 1);
    EXPECT_EQ(counter.callers_out, 0);
  }).join();
  EXPECT_EQ(counter.callers_out, 1);
  counter.observe(false);
  Counter::here = 0;
}

TEST(Observer, PresentWorkersEnterWithTheirNextTask) {
  tbb::task_arena arena(2);
  std::atomic<bool> inside{false}, go{false};
  Counter* observing = nullptr;
  tbb::task_group group;
  arena.enqueue(
      [&] {
        inside = true;
        while (!go) std::this_thread::yield();
        arena.enqueue([&] { EXPECT_EQ(observing->workers_in, 1); }, group);
      },
      group);
  while (!inside) std::this_thread::yield();
  Counter counter(arena);
  counter.observe();
  observing = &counter;
  go = true;
  group.wait();
  while (counter.workers_in != counter.workers_out) std::this_thread::yield();
}

// Observers are created and destroyed while threads enter and leave. None is called after its end.
TEST(Observer, EndsSafely) {
  struct Checked : tbb::task_scheduler_observer {
    explicit Checked(tbb::task_arena& a) : tbb::task_scheduler_observer(a) { observe(); }
    ~Checked() override {
      observe(false);
      EXPECT_EQ(calls, 0);
    }
    void on_scheduler_entry(bool) override { be_called(); }
    void on_scheduler_exit(bool) override { be_called(); }
    void be_called() {
      ++calls;
      ++total();
      std::this_thread::yield();
      --calls;
    }
    std::atomic<int> calls{0};
    static std::atomic<int>& total() {
      static std::atomic<int> calls_of_all{0};
      return calls_of_all;
    }
  };
  tbb::task_arena arena(4);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) arena.execute([] { tbb::parallel_invoke([] {}, [] {}); });
    });
  }
  std::atomic<int> calls{0};
  while (calls < 3) arena.execute([&] { ++calls; });
  while (Checked::total() < 1000) {
    Checked first(arena), second(arena);
    std::this_thread::yield();
  }
  stop = true;
  for (auto& t : threads) t.join();
}

TEST(Observer, EndsInItsOwnFunction) {
  struct Once : tbb::task_scheduler_observer {
    using tbb::task_scheduler_observer::task_scheduler_observer;
    void on_scheduler_entry(bool) override {
      ++calls;
      observe(false);
    }
    int calls = 0;
  };
  tbb::task_arena arena(1);
  Once once(arena);
  once.observe();
  arena.execute([] {});
  arena.execute([] {});
  EXPECT_EQ(once.calls, 1);
}

TEST(Observer, OutlivesTheArenaObject) {
  auto arena = std::make_unique<tbb::task_arena>(2);
  Counter counter(*arena);
  counter.observe();
  arena->execute([] {});
  arena.reset();
  EXPECT_EQ(counter.callers_in, 1);
}

TEST(Observer, SeesAThreadThatWaitsInTheArena) {
  tbb::task_arena arena(2, 2);
  tbb::task_group group;
  tbb::task_handle unfinished = group.defer([] {});
  std::atomic<bool> inside{false}, done{false};
  std::thread waiting([&] {
    arena.execute([&] {
      inside = true;
      group.wait();
    });
  });
  while (!inside) std::this_thread::yield();
  Counter counter(arena);
  counter.observe();
  arena.execute([&] {
    group.run([&] { done = true; });
    while (!done) std::this_thread::yield();  // the other thread has taken it
    EXPECT_EQ(counter.callers_in, 2);
    unfinished = tbb::task_handle();
  });
  waiting.join();
  EXPECT_EQ(counter.callers_out, 2);
}

TEST(Observer, EndsAnotherInThatOnesFunction) {
  tbb::task_arena outer_arena(1), inner_arena(1);
  struct Inner : tbb::task_scheduler_observer {
    using tbb::task_scheduler_observer::task_scheduler_observer;
    void on_scheduler_entry(bool) override { end->observe(false); }
    tbb::task_scheduler_observer* end = nullptr;
  };
  struct Outer : tbb::task_scheduler_observer {
    using tbb::task_scheduler_observer::task_scheduler_observer;
    void on_scheduler_entry(bool) override {
      ++calls;
      arena->execute([] {});
    }
    tbb::task_arena* arena = nullptr;
    int calls = 0;
  };
  Outer outer(outer_arena);
  Inner inner(inner_arena);
  outer.arena = &inner_arena;
  inner.end = &outer;
  outer.observe();
  inner.observe();
  outer_arena.execute([] {});
  EXPECT_FALSE(outer.is_observing());
  outer_arena.execute([] {});
  EXPECT_EQ(outer.calls, 1);
  inner.observe(false);
}

// Which observers a thread has called is recorded in its slot, not with its stack.
TEST(Observer, SeesAThreadWithSeveralStacksOnce) {
  tbb::task_arena arena(1);
  arena.initialize();
  Counter counter(arena);
  std::atomic<tbb::task::suspend_point> point{nullptr};
  std::thread helper([&] {
    while (point == nullptr) std::this_thread::yield();
    counter.observe();
    std::atomic<bool> has_run{false};
    arena.enqueue([&] { has_run = true; });
    while (!has_run) std::this_thread::yield();
    tbb::task::resume(point);
  });
  arena.execute([&] {
    tbb::task_group group;
    group.run([&] { tbb::task::suspend([&](tbb::task::suspend_point p) { point = p; }); });
    group.wait();
    tbb::task_group more;
    tbb::task_handle last = more.defer([] {});
    arena.enqueue([&] { more.run(std::move(last)); });
    more.wait();
  });
  helper.join();
  EXPECT_LE(counter.callers_in, 1);  // none if a worker took both tasks
  EXPECT_EQ(counter.callers_out, counter.callers_in);
}

}  // namespace
