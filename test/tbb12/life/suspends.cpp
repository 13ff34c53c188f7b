// SPDX-License-Identifier: Apache-2.0
// suspends [more]: suspended tasks, resumed by other threads, by tasks, before suspend has
// returned, many at once, nested, in arenas and inside of isolate. In what comes with `more` the
// original library sometimes hangs.
#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <deque>
#include <mutex>
#include <stdexcept>

#include "life.hpp"

namespace {

using Point = tbb::task::suspend_point;

// A thread of the program that resumes points.
class Resumer {
 public:
  ~Resumer() {
    stops_ = true;
    thread_.join();
  }
  void add(Point point) {
    const std::lock_guard<std::mutex> guard(guard_);
    points_.push_back(point);
  }
  long waiting() {
    const std::lock_guard<std::mutex> guard(guard_);
    return long(points_.size());
  }
  // Resumes nothing until so many points wait.
  std::atomic<long> least{1};

 private:
  void run() {
    while (!stops_) {
      wait_for([&] { return stops_ || waiting() >= least; });
      std::deque<Point> taken;
      {
        const std::lock_guard<std::mutex> guard(guard_);
        taken.swap(points_);
      }
      if (!taken.empty()) least = 1;
      for (const Point point : taken) tbb::task::resume(point);
    }
  }

  std::mutex guard_;
  std::deque<Point> points_;
  std::atomic<bool> stops_{false};
  std::thread thread_{[this] { run(); }};
};

void from_other_threads(Resumer& resumer) {
  std::atomic<long> sum{0};
  tbb::parallel_for(0, 200, [&](int i) {
    tbb::task::suspend([&](Point point) { resumer.add(point); });
    sum += i;
  });
  say("in a loop", sum);
}

void at_once() {
  std::atomic<long> count{0};
  tbb::task_group group;
  for (int i = 0; i < 100; ++i) {
    group.run([&] {
      tbb::task::suspend([](Point point) { tbb::task::resume(point); });
      ++count;
    });
  }
  group.wait();
  say("before suspend returns", count);
}

void many(Resumer& resumer) {
  constexpr long kTasks = 100;
  resumer.least = kTasks;  // all of them are suspended at the same time
  std::atomic<long> count{0};
  tbb::task_group group;
  for (int i = 0; i < kTasks; ++i) {
    group.run([&] {
      tbb::task::suspend([&](Point point) { resumer.add(point); });
      ++count;
    });
  }
  group.wait();
  say("at the same time", count);
}

void nested(Resumer& resumer) {
  std::atomic<long> count{0};
  tbb::parallel_for(0, 10, [&](int) {
    tbb::task::suspend([&](Point point) { resumer.add(point); });
    tbb::parallel_for(0, 10, [&](int) {
      tbb::task::suspend([&](Point point) { resumer.add(point); });
      ++count;
    });
    tbb::task::suspend([&](Point point) { resumer.add(point); });
    ++count;
  });
  say("nested", count);
}

void in_arenas(Resumer& resumer) {
  for (int width = 1; width < 4; ++width) {
    tbb::task_arena arena(width);
    std::atomic<long> count{0};
    arena.execute([&] {
      tbb::task_group group;
      for (int i = 0; i < 20; ++i) {
        group.run([&] {
          tbb::task::suspend([&](Point point) { resumer.add(point); });
          ++count;
        });
      }
      group.wait();
    });
    say("in an arena", count);
  }
}

// With no thread that waits.
void enqueued(Resumer& resumer) {
  for (int width = 1; width < 4; ++width) {
    tbb::task_arena arena(width);
    std::atomic<long> count{0};
    for (int i = 0; i < 20; ++i) {
      arena.enqueue([&] {
        tbb::task::suspend([&](Point point) { resumer.add(point); });
        ++count;
      });
    }
    wait_for([&] { return count == 20; });
    say("enqueued", count);
  }
}

void by_task() {
  std::atomic<long> count{0};
  tbb::task_group group;
  for (int i = 0; i < 20; ++i) {
    group.run([&] {
      tbb::task::suspend([&](Point point) { group.run([point] { tbb::task::resume(point); }); });
      ++count;
    });
  }
  group.wait();
  say("by a task", count);
}

void in_isolation(Resumer& resumer) {
  std::atomic<long> count{0};
  tbb::parallel_for(0, 20, [&](int) {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(0, 5, [&](int) {
        tbb::task::suspend([&](Point point) { resumer.add(point); });
        ++count;
      });
    });
  });
  say("in isolation", count);
}

void then_throws(Resumer& resumer) {
  try {
    tbb::parallel_for(0, 20, [&](int i) {
      tbb::task::suspend([&](Point point) { resumer.add(point); });
      if (i == 10) throw std::runtime_error("after it was resumed");
    });
  } catch (const std::runtime_error& error) {
    say("caught", error.what());
  }
}

// Outside of any task: a suspended point of the program's own thread.
void outside(Resumer& resumer) {
  tbb::task::suspend([&](Point point) { resumer.add(point); });
  say("outside of tasks", 1);
  std::thread([&] {
    tbb::task::suspend([&](Point point) { resumer.add(point); });
    say("in another thread", 1);
  }).join();
}

}  // namespace

int main(int count, char**) {
  Resumer resumer;
  from_other_threads(resumer);
  at_once();
  many(resumer);
  nested(resumer);
  in_arenas(resumer);
  by_task();
  in_isolation(resumer);
  then_throws(resumer);
  outside(resumer);
  if (count > 1) enqueued(resumer);
  return 0;
}
