// SPDX-License-Identifier: Apache-2.0
// The stacks of a thread whose tasks have been suspended.
//
// A thread leaves a stack in two cases. Its task suspends itself: then it goes on with a spare
// stack, on which it looks for work until a suspended task has been resumed. Or a wait would fall
// asleep although another stack could go on, because its task has been resumed or its own wait is
// over: then it goes on with that one. All switching happens within one thread, so everything here
// but the resuming is its own; code that was suspended finds its thread unchanged.
#pragma once

#include <memory>
#include <vector>

#include <corbel/detail/suspend.hpp>

#include "os/os.hpp"
#include "sched/thread.hpp"
#include "sched/trace.hpp"

namespace corbel {

namespace sched {

class Fibers;

// A stack, and what a thread must keep of it while it is elsewhere.
struct Stack {
  Stack() = default;  // the thread's own
  Stack(std::size_t size, void (*run)(void*), void* argument) : fiber(size, run, argument) {}

  os::Fiber fiber;

  // What it waits for while it is left in a wait.
  const void* key = nullptr;
  bool (*done)(const void*) = nullptr;

  Standing standing;
  trace::Strand strand;
  void* exceptions[2] = {};  // what the C++ runtime keeps for a thread: caught, and not yet caught
};

}  // namespace sched

namespace detail {

// One call of suspend(), in its frame: what it has called may be suspended on the same stack.
struct suspend_point_type {
  sched::Fibers& fibers;
  sched::Stack& stack;
  bool is_told = false;                // before, the call is not over with the stack
  suspend_point_type* next = nullptr;  // of those that have been resumed
};

}  // namespace detail

namespace sched {

class Fibers {
 public:
  explicit Fibers(Thread& t) : thread_(t), current_(&own_) {}
  ~Fibers() = default;
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  void suspend(void (*tell)(void*, detail::suspend_point), void* argument);

  // Whether another stack could go on now.
  bool has_ready() const;
  static bool has_ready(const void* self) { return static_cast<const Fibers*>(self)->has_ready(); }

  // From a wait that has nothing else to do: lets one of those go on until the thread comes back.
  // Does nothing if what one of them waits for, a place in an arena, has come and gone again.
  void run_ready(const void* key, bool (*done)(const void*));

  // Before the thread gives up a place: lets the stacks that stand in it come to the ends of their
  // tasks, the suspended ones too.
  void let_others_leave(const Slot& slot);

  // Before a thread goes on with what no task has called: lets those end that were left in a wait.
  // Nobody knows when a suspended task is resumed, or whether by this thread.
  void let_waits_end();

  // From any thread.
  void resume(detail::suspend_point_type& point);

 private:
  static void run_spare(void* self);
  void clear_place();
  Stack& spare();
  Stack* take_ready();
  void go_to(Stack& stack);
  bool is_between_tasks() const;
  bool stands_in(const Slot& slot, const Stack& stack) const;
  bool somebody_stands_in(const Slot& slot, const Stack& asking) const;

  Thread& thread_;
  Stack own_;
  Stack* current_;
  std::vector<std::unique_ptr<Stack>> made_;
  std::vector<Stack*> spare_;  // in no task
  std::vector<Stack*> left_;   // in a task's wait
  // Those that have been resumed: the newest, where any thread may push, and the others in order.
  std::atomic<detail::suspend_point_type*> resumed_{nullptr};
  detail::suspend_point_type* in_order_ = nullptr;
  detail::suspend_point_type** end_ = &in_order_;
};

}  // namespace sched
}  // namespace corbel
