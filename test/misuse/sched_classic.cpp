// SPDX-License-Identifier: Apache-2.0
// Tasks of TBB 2020 that are never waited for or never spawned, and exceptions in all their
// functions.
#include <corbel/classic/task.hpp>

#include <thread>

#include "sched_misuse.hpp"

namespace misuse {
namespace {

using corbel::task;

class Count : public task {
 public:
  explicit Count(std::atomic<int>* sum) : sum_(sum) {}
  task* execute() override {
    ++*sum_;
    return nullptr;
  }

 private:
  Object object_;
  std::atomic<int>* sum_;
};

class Throws : public task {
 public:
  task* execute() override { throw Failure(); }

 private:
  Object object_;
};

class ThrowsWhenMade : public task {
 public:
  ThrowsWhenMade() { throw Failure("a constructor failed"); }
  task* execute() override { return nullptr; }

 private:
  Object object_;
};

// Roots that no thread waits for, of a thread that ends.
void spawned_without_wait() {
  std::atomic<int> sum{0};
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) task::spawn(*new (task::allocate_root()) Count(&sum));
  }).join();
  test::wait_for([&] { return sum == 1000 && balance.alive == 0; }, 20000);
  say("%d have run", int(sum));
}

void enqueued_without_wait() {
  std::atomic<int> sum{0};
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) task::enqueue(*new (task::allocate_root()) Count(&sum));
  }).join();
  test::wait_for([&] { return sum == 1000 && balance.alive == 0; }, 20000);
  say("%d have run", int(sum));
}

void never_spawned() {
  std::atomic<int> sum{0};
  task& parent = *new (task::allocate_root()) corbel::empty_task;
  parent.set_ref_count(2);
  task& child = *new (parent.allocate_child()) Count(&sum);
  task::destroy(child);
  say("%d reference left", parent.ref_count());
  parent.wait_for_all();
  task::destroy(parent);
  expect(sum == 0, "a task that is destroyed does not run");
}

void execute_throws() {
  outcome([] { task::spawn_root_and_wait(*new (task::allocate_root()) Throws); });
  std::atomic<int> sum{0};
  task::spawn_root_and_wait(*new (task::allocate_root()) Count(&sum));
  say("%d has run", int(sum));
}

void several_throw() {
  outcome([] {
    task& parent = *new (task::allocate_root()) corbel::empty_task;
    struct End {
      task& t;
      ~End() { task::destroy(t); }
    } end{parent};
    parent.set_ref_count(101);
    for (int i = 0; i < 100; ++i) task::spawn(*new (parent.allocate_child()) Throws);
    parent.wait_for_all();
  });
}

void constructor_throws() {
  outcome([] { new (task::allocate_root()) ThrowsWhenMade; });
  task& parent = *new (task::allocate_root()) corbel::empty_task;
  parent.set_ref_count(1);
  outcome([&] { new (task::allocate_additional_child_of(parent)) ThrowsWhenMade; });
  say("%d reference left", parent.ref_count());
  parent.wait_for_all();
  task::destroy(parent);
}

class Deep : public task {
 public:
  explicit Deep(int depth) : depth_(depth) {}
  task* execute() override {
    if (depth_ == 0) throw Failure("ten deep");
    set_ref_count(3);
    spawn(*new (allocate_child()) Deep(depth_ - 1));
    spawn_and_wait_for_all(*new (allocate_child()) Deep(depth_ - 1));
    return nullptr;
  }

 private:
  Object object_;
  int depth_;
};

void throws_deep_inside() {
  outcome([] { task::spawn_root_and_wait(*new (task::allocate_root()) Deep(10)); });
}

class Cancels : public task {
 public:
  explicit Cancels(int depth) : depth_(depth) {}
  task* execute() override {
    if (depth_ == 0) {
      cancel_group_execution();
      return nullptr;
    }
    set_ref_count(3);
    spawn(*new (allocate_child()) Cancels(depth_ - 1));
    spawn_and_wait_for_all(*new (allocate_child()) Cancels(depth_ - 1));
    return nullptr;
  }

 private:
  Object object_;
  int depth_;
};

void cancels_deep_inside() {
  outcome([] { task::spawn_root_and_wait(*new (task::allocate_root()) Cancels(10)); });
  corbel::task_group_context context;
  outcome([&] { task::spawn_root_and_wait(*new (task::allocate_root(context)) Cancels(10)); });
  say("%s", context.is_group_execution_cancelled() ? "cancelled" : "not cancelled");
}

}  // namespace

extern const Case classic_cases[];
const Case classic_cases[] = {{"classic-spawned-without-wait", spawned_without_wait},
                              {"classic-enqueued-without-wait", enqueued_without_wait},
                              {"classic-never-spawned", never_spawned},
                              {"classic-execute-throws", execute_throws},
                              {"classic-several-throw", several_throw},
                              {"classic-constructor-throws", constructor_throws},
                              {"classic-throws-deep-inside", throws_deep_inside},
                              {"classic-cancels-deep-inside", cancels_deep_inside},
                              {nullptr, nullptr}};

}  // namespace misuse
