// SPDX-License-Identifier: Apache-2.0
// The stacks of a thread whose tasks have been suspended.
//
// A thread leaves a stack in two cases. Its task suspends itself: the thread continues on a spare
// stack, where it looks for work until a suspended task has been resumed. Or a wait would park
// although another stack could continue, because its task has been resumed or its own wait has
// ended: the thread continues there. A thread switches only between its own stacks, so it shares
// nothing here with others but the list of resumed tasks, and suspended code continues in its own
// thread.
//
// A stack consists of one or several segments. A wait that would take further work although its
// segment is half full runs that work on a new segment (call_on_new_stack). Such a call is a call
// like any other, only that its frames lie elsewhere: the thread comes back when it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <corbel/detail/suspend.hpp>

#include "os/os.hpp"
#include "sched/core/thread.hpp"
#include "sched/trace/trace.hpp"

namespace corbel {

namespace sched {

class Fibers;

// A stack, and what is saved while the thread is on another one.
struct Stack {
  Stack() = default;  // the thread's own
  Stack(std::size_t size, void (*run)(void*), void* argument)
      : fiber(size, run, argument), range(fiber.stack()), knows_range(true) {
    clock.tasks = 1;  // the stack only looks for tasks: no outermost call begins there
  }

  os::Fiber fiber;           // the first segment
  os::Fiber* last = &fiber;  // the segment that the thread is or was on
  os::StackRange range;      // of that segment, if `knows_range`
  bool knows_range = false;

  // What it waits for if the thread has left it in a wait.
  const void* key = nullptr;
  bool (*done)(const void*) = nullptr;

  ThreadPosition position;
  trace::PathClock clock;
  void* exceptions[2] = {};  // the C++ runtime's state of a thread: caught, and not yet caught
};

// A further segment of a stack. It serves one call at a time.
struct Segment {
  Segment(std::size_t size, void (*run)(void*)) : fiber(size, run, this) {}

  os::Fiber fiber;
  os::Fiber* before = nullptr;  // the segment of the caller
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  std::uint32_t floating_point = 0;  // the caller's settings
};

}  // namespace sched

namespace detail {

// One call of suspend(), in its frame. Calls may nest on one stack: `tell` may suspend, too.
struct suspend_point_type {
  sched::Fibers& fibers;
  sched::Stack& stack;
  bool is_told = false;                // until then the call still uses the stack
  suspend_point_type* next = nullptr;  // in the list of resumed points
};

}  // namespace detail

namespace sched {

class Fibers {
 public:
  explicit Fibers(Thread& t) : thread_(t), current_(&own_) {}
  ~Fibers() = default;
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // See detail::stack_key.
  std::uintptr_t key() const {
    return current_ == &own_ ? 0 : reinterpret_cast<std::uintptr_t>(current_);
  }

  void suspend(void (*tell)(void*, detail::suspend_point), void* argument);

  // See other_stacks.hpp.
  // Those that are made and not spare are in use. If the current one is among them, the thread's
  // own is another one instead: it is never spare.
  bool has_others() const { return made_.size() > spare_.size(); }
  bool has_ready() const;
  static bool has_ready(const void* self) { return static_cast<const Fibers*>(self)->has_ready(); }
  void run_ready(const void* key, bool (*done)(const void*));
  void finish_stacks_in(const Slot& slot);
  void finish_waits();

  // See call_on_new_stack in other_stacks.hpp.
  bool call(void (*f)(void*), void* argument);

  // From any thread.
  void resume(detail::suspend_point_type& point);

 private:
  static void run_spare(void* self);
  static void run_segment(void* self);
  std::unique_ptr<Segment> take_segment();
  void run_what_is_left();
  Stack& spare();
  Stack* take_ready();
  void go_to(Stack& stack);
  bool is_between_tasks() const;
  bool uses(const Slot& slot, const Stack& stack) const;
  bool another_uses(const Slot& slot, const Stack& asking) const;

  Thread& thread_;
  Stack own_;
  Stack* current_;
  std::vector<std::unique_ptr<Stack>> made_;
  std::vector<Stack*> spare_;  // in no task
  std::vector<Stack*> left_;   // in a task's wait
  std::unique_ptr<Segment> unused_segment_;
  // The resumed points: those that any thread may push to, newest first, and then those that this
  // thread has taken from there, in order.
  std::atomic<detail::suspend_point_type*> resumed_{nullptr};
  detail::suspend_point_type* in_order_ = nullptr;
  detail::suspend_point_type** end_ = &in_order_;
};

}  // namespace sched
}  // namespace corbel
