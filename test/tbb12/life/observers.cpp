// SPDX-License-Identifier: Apache-2.0
// Observers: of the thread's own arena and of an explicit one, destroyed while workers are inside,
// with pairs of calls.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <memory>
#include <set>

#include "life.hpp"

namespace {

class Counts : public tbb::task_scheduler_observer {
 public:
  Counts() { observe(true); }
  explicit Counts(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Counts() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    const std::lock_guard<std::mutex> guard(guard_);
    if (!inside_.insert(std::this_thread::get_id()).second) ++wrong;
    ++entered;
    (is_worker ? workers : masters) += 1;
    if (is_worker == (std::this_thread::get_id() == main_thread)) ++wrong;
  }
  void on_scheduler_exit(bool is_worker) override {
    const std::lock_guard<std::mutex> guard(guard_);
    if (inside_.erase(std::this_thread::get_id()) == 0) ++wrong;
    if (is_worker == (std::this_thread::get_id() == main_thread)) ++wrong;
    ++left;
  }
  bool is_inside() {
    const std::lock_guard<std::mutex> guard(guard_);
    return inside_.count(std::this_thread::get_id()) != 0;
  }

  std::atomic<long> entered{0}, left{0}, workers{0}, masters{0}, wrong{0};
  const std::thread::id main_thread = std::this_thread::get_id();

 private:
  std::mutex guard_;
  std::set<std::thread::id> inside_;
};

// Two tasks at the same time, so a worker takes part.
template <typename Each>
void with_worker(const Each& each) {
  std::atomic<long> inside{0};
  tbb::task_group group;
  for (int i = 0; i < 2; ++i) {
    group.run([&] {
      each();
      ++inside;
      wait_for([&] { return inside == 2; });
    });
  }
  group.wait();
}

void of_explicit_arena() {
  tbb::task_arena arena(2, 1);
  long not_inside = 0;
  {
    Counts counts(arena);
    say("is observing", counts.is_observing());
    say("entered outside", counts.entered);
    for (int i = 0; i < 20; ++i) {
      arena.execute([&] {
        with_worker([&] {
          if (!counts.is_inside()) ++not_inside;
        });
      });
    }
    say("the main thread entered", counts.masters);
    say("a worker entered", counts.workers > 0);
    say("wrong", counts.wrong);
    counts.observe(false);
    say("is observing", counts.is_observing());
    const long before = counts.entered;
    arena.execute([] { with_worker([] {}); });
    say("entered after the end", counts.entered - before);
    counts.observe(true);
    arena.execute([] { with_worker([] {}); });
    say("entered again", counts.entered > before);
  }
  say("tasks of threads that had not entered", not_inside);
}

void of_own_arena() {
  Counts counts;
  say("the calling thread has entered", counts.masters);
  with_worker([] {});
  say("a worker has", counts.workers > 0);
  tbb::task_arena other(1);
  const long before = counts.masters;
  other.execute([] { tbb::parallel_for(0, 100, [](int) {}); });
  say("entered in another arena", counts.masters - before);
  counts.observe(false);
  say("wrong in the own arena", counts.wrong);
}

void destroyed_while_inside() {
  tbb::task_arena arena(2, 1);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> is_inside{false}, may_end{false};
    auto counts = std::make_unique<Counts>(arena);
    arena.enqueue([&] {
      is_inside = true;
      wait_for([&] { return may_end.load(); });
      is_inside = false;
    });
    wait_for([&] { return is_inside.load(); });
    counts.reset();
    may_end = true;
    wait_for([&] { return !is_inside; });
    // Two observers at a time, also while workers come and go.
    Counts first(arena), second(arena);
    std::atomic<bool> has_run{false};
    arena.enqueue([&] { has_run = true; });
    wait_for([&] { return has_run.load(); });
  }
  say("destroyed", 50);
}

// All slots are taken by threads that wait for this one.
void of_full_arena() {
  tbb::task_arena arena(2, 1);
  std::atomic<long> inside{0};
  std::atomic<bool> may_end{false};
  const auto stay = [&] {
    ++inside;
    wait_for([&] { return may_end.load(); });
    --inside;
  };
  std::thread occupies([&] { arena.execute(stay); });
  arena.enqueue(stay);
  wait_for([&] { return inside == 2; });
  {
    Counts counts(arena);
    say("entered a full arena", counts.masters);
  }
  may_end = true;
  wait_for([&] { return inside == 0; });
  occupies.join();
}

// The arena is destroyed before its observer stops.
void longer_than_arena() {
  auto arena = std::make_unique<tbb::task_arena>(2, 1);
  Counts counts(*arena);
  arena->execute([] { with_worker([] {}); });
  arena.reset();
  counts.observe(false);
  say("wrong without the arena", counts.wrong);
}

class CallsBack : public tbb::task_scheduler_observer {
 public:
  explicit CallsBack(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {}
  ~CallsBack() override { observe(false); }
  void on_scheduler_entry(bool) override {
    tbb::parallel_for(0, 10, [&](int) { ++count; });
  }
  void on_scheduler_exit(bool) override { ++left; }
  std::atomic<long> count{0}, left{0};
};

void uses_library() {
  tbb::task_arena arena(1);
  CallsBack observer(arena);
  observer.observe(true);
  arena.execute([] {});
  say("loops in an observer", observer.count);
  say("and left", observer.left);
}

// Says what it sees of itself.
class Sees : public tbb::task_scheduler_observer {
 public:
  ~Sees() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) return;
    ++entered;
    say("observing inside of it", is_observing());
  }
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker) ++left;
  }
  std::atomic<long> entered{0}, left{0};
};

void sees_itself() {
  Sees observer;
  observer.observe(true);
  observer.observe(false);
  say("entered", observer.entered);
  say("left", observer.left);
  observer.observe(true);
  observer.observe(true);
  say("entered again", observer.entered);
}

// Turned on before the arena exists, which makes it.
void before_arena() {
  tbb::task_arena arena(2, 1);
  Counts counts(arena);
  arena.initialize();
  arena.execute([] {});
  say("on before the arena", counts.is_observing());
}

}  // namespace

int main() {
  of_own_arena();
  of_explicit_arena();
  destroyed_while_inside();
  of_full_arena();
  longer_than_arena();
  uses_library();
  sees_itself();
  before_arena();
  return 0;
}
