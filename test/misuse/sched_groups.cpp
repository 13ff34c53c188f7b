// SPDX-License-Identifier: Apache-2.0
// Task groups that are waited for too rarely, too often or by the wrong task, handles that are
// empty or belong to another group, and cancellation.
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_group.hpp>

#include <thread>
#include <vector>

#include "sched_misuse.hpp"

namespace misuse {
namespace {

using corbel::task_group;
using corbel::task_group_context;
using corbel::task_group_status;
using corbel::task_handle;

const char* text(task_group_status status) {
  return status == corbel::complete   ? "complete"
         : status == corbel::canceled ? "canceled"
                                      : "not complete";
}

// ---- waits

void destroyed_with_tasks() {
  std::atomic<int> running{0};
  outcome([&] {
    task_group group;
    for (int i = 0; i < 50; ++i) {
      group.run([&running, object = Object()] {
        ++running;
        while (!corbel::is_current_task_group_canceling()) std::this_thread::yield();
        --running;
      });
    }
    test::wait_for([&] { return running > 0; });
  });
  expect(running == 0, "the tasks have ended");
}

void destroyed_while_unwinding() {
  outcome([] {
    task_group group;
    for (int i = 0; i < 50; ++i) group.run([object = Object()] { test::work_a_little(); });
    throw Failure("of the program's own");
  });
}

void handle_never_run() {
  task_group group;
  bool ran = false;
  {
    task_handle handle = group.defer([&ran, object = Object()] { ran = true; });
  }
  say("%s", text(group.wait()));
  expect(!ran, "a task without a run");
}

void handle_assigned_over() {
  task_group group;
  int ran = 0;
  task_handle handle = group.defer([&ran, object = Object()] { ran += 10; });
  handle = group.defer([&ran, object = Object()] { ran += 1; });
  group.run(std::move(handle));
  say("%s", text(group.wait()));
  expect(ran == 1, "the overwritten task is dropped");
}

void wait_without_tasks() {
  task_group group;
  say("%s", text(group.wait()));
  say("%s", text(group.wait()));
}

// ---- misuse that assertions find

void run_empty_handle() {
  task_group group;
  group.run(task_handle());
}

void run_twice() {
  task_group group;
  task_handle handle = group.defer([] {});
  group.run(std::move(handle));
  group.run(std::move(handle));
}

void run_in_another_group() {
  task_group one, other;
  task_handle handle = one.defer([] {});
  other.run(std::move(handle));
}

void order_of_empty_handle() {
  task_group group;
  task_handle before, after = group.defer([] {});
  task_group::set_task_order(before, after);
}

void wait_in_own_task() {
  task_group group;
  group.run([&group] { group.wait(); });
  group.wait();
}

// ---- exceptions

void body_throws() {
  task_group group;
  group.run([object = Object()] { throw Failure(); });
  outcome([&] { group.wait(); });
  int ran = 0;
  group.run([&ran] { ++ran; });
  say("%s", text(group.wait()));
  expect(ran == 1, "the group can be used again");
}

void several_bodies_throw() {
  task_group group;
  for (int i = 0; i < 100; ++i) {
    group.run([object = Object()] {
      test::work_a_little();
      throw Failure();
    });
  }
  outcome([&] { group.wait(); });
  say("%s", text(group.wait()));
}

void run_and_wait_throws() {
  task_group group;
  for (int i = 0; i < 10; ++i) group.run([object = Object()] { test::work_a_little(); });
  outcome([&] { group.run_and_wait([] { throw Failure(); }); });
  say("%s", text(group.wait()));
}

struct CopyThrows {
  Object object;
  CopyThrows() = default;
  CopyThrows(const CopyThrows& other) : object(other.object) { throw Failure("a copy failed"); }
  void operator()() const {}
};

void body_copy_throws() {
  task_group group;
  int ran = 0;
  group.run([&ran] { ++ran; });
  const CopyThrows body;
  outcome([&] { group.run(body); });
  outcome([&] { group.defer(body); });
  say("%s", text(group.wait()));
  expect(ran == 1, "the other task is not disturbed");
}

void returned_handle_of_thrower() {
  task_group group;
  group.run([&group, object = Object()]() -> task_handle {
    task_handle next = group.defer([object = Object()] {});
    throw Failure();
  });
  outcome([&] { group.wait(); });
}

void after_a_thrower() {
  task_group group;
  bool ran = false;
  task_handle before = group.defer([object = Object()] { throw Failure(); });
  task_handle after = group.defer([&ran, object = Object()] { ran = true; });
  task_group::set_task_order(before, after);
  group.run(std::move(before));
  group.run(std::move(after));
  outcome([&] { group.wait(); });
  expect(!ran, "its successor is cancelled");
}

void after_one_never_run() {
  task_group group;
  bool ran = false;
  task_handle after = group.defer([&ran, object = Object()] { ran = true; });
  {
    task_handle before = group.defer([object = Object()] {});
    task_group::set_task_order(before, after);
  }
  group.run(std::move(after));
  say("%s", text(group.wait()));
  expect(ran, "a dropped task does not delay its successors");
}

// ---- cancellation

void cancelled_before() {
  task_group group;
  int ran = 0;
  group.cancel();
  for (int i = 0; i < 10; ++i) group.run([&ran, object = Object()] { ++ran; });
  say("%s", text(group.wait()));
  expect(ran == 0, "no task begins in a cancelled group");
  group.run([&ran] { ++ran; });
  say("%s", text(group.wait()));
}

void cancelled_from_inside() {
  task_group group;
  std::atomic<int> after{0};
  for (int i = 0; i < 1000; ++i) {
    group.run([&, object = Object()] {
      if (group.is_canceling()) ++after;  // had already started
      group.cancel();
    });
  }
  say("%s", text(group.wait()));
  expect(after < 1000, "not all tasks begin");
}

void cancelled_from_outside() {
  task_group group;
  std::atomic<bool> started{false};
  std::thread other([&] {
    while (!started) std::this_thread::yield();
    group.cancel();
  });
  group.run([&, object = Object()] {
    started = true;
    while (!corbel::is_current_task_group_canceling()) std::this_thread::yield();
  });
  say("%s", text(group.wait()));
  other.join();
}

// Cancelling a context cancels all contexts below it, of any kind.
void parent_cancelled() {
  task_group_context context;
  std::atomic<int> inside{0};
  std::atomic<int> cancelled{0};
  const auto stay = [&] {
    const Object object;
    ++inside;
    while (!corbel::is_current_task_group_canceling()) std::this_thread::yield();
    ++cancelled;
  };
  std::thread other([&] {
    while (inside == 0) std::this_thread::yield();
    context.cancel_group_execution();
  });
  task_group_status status = corbel::not_complete;
  corbel::parallel_invoke(
      [&] {
        const std::vector<int> items(10);
        corbel::parallel_for_each(items, [&](int) { corbel::parallel_invoke(stay, stay); });
      },
      [&] {
        task_group group;
        for (int i = 0; i < 10; ++i) group.run(stay);
        status = group.wait();
      },
      context);
  other.join();
  expect(inside == cancelled && inside > 0 && inside < 30, "each loop that began was cancelled");
  expect(status != corbel::complete, "the inner group did not complete");
  say("%s", context.is_group_execution_cancelled() ? "cancelled" : "not cancelled");
}

// Only the contexts below it: the sibling continues.
void child_cancelled() {
  std::atomic<int> ran{0};
  task_group outer;
  for (int i = 0; i < 20; ++i) {
    outer.run([&, i] {
      task_group inner;
      for (int k = 0; k < 10; ++k) inner.run([&] { ++ran; });
      if (i % 2 == 0) inner.cancel();
      const task_group_status status = inner.wait();
      expect((status == corbel::canceled) == (i % 2 == 0), "each group has its own status");
    });
  }
  say("%s", text(outer.wait()));
  expect(ran >= 100, "the groups that were not cancelled have run");
}

void isolated_child_of_cancelled() {
  task_group outer;
  int ran = 0;
  outer.run([&] {
    outer.cancel();
    task_group_context isolated(task_group_context::isolated);
    task_group inner(isolated);
    for (int i = 0; i < 5; ++i) inner.run_and_wait([&] { ++ran; });
  });
  say("%s", text(outer.wait()));
  expect(ran == 5, "an isolated context is not cancelled from above");
}

}  // namespace

extern const Case group_cases[];
const Case group_cases[] = {{"group-destroyed-with-tasks", destroyed_with_tasks},
                            {"group-destroyed-while-unwinding", destroyed_while_unwinding},
                            {"group-handle-never-run", handle_never_run},
                            {"group-handle-assigned-over", handle_assigned_over},
                            {"group-wait-without-tasks", wait_without_tasks},
                            {"group-run-empty-handle", run_empty_handle},
                            {"group-run-twice", run_twice},
                            {"group-run-in-another-group", run_in_another_group},
                            {"group-order-of-empty-handle", order_of_empty_handle},
                            {"group-wait-in-own-task", wait_in_own_task},
                            {"group-body-throws", body_throws},
                            {"group-several-bodies-throw", several_bodies_throw},
                            {"group-run-and-wait-throws", run_and_wait_throws},
                            {"group-body-copy-throws", body_copy_throws},
                            {"group-returned-handle-of-thrower", returned_handle_of_thrower},
                            {"group-after-a-thrower", after_a_thrower},
                            {"group-after-one-never-run", after_one_never_run},
                            {"group-cancelled-before", cancelled_before},
                            {"group-cancelled-from-inside", cancelled_from_inside},
                            {"group-cancelled-from-outside", cancelled_from_outside},
                            {"group-parent-cancelled", parent_cancelled},
                            {"group-child-cancelled", child_cancelled},
                            {"group-isolated-child-of-cancelled", isolated_child_of_cancelled},
                            {nullptr, nullptr}};

}  // namespace misuse
