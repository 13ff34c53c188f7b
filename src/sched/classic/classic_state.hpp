// SPDX-License-Identifier: Apache-2.0
// The state of a thread for classic tasks: a group for those that it begins outside of all tasks,
// and placeholders, which stand for code outside of classic tasks.
#pragma once

#include <corbel/classic/task.hpp>

#include "sched/classic/own_group.hpp"
#include "sched/core/thread.hpp"

namespace corbel::classic {

// Never freed, like the Thread: tasks may outlast the external thread. The next thread with the
// same Thread object begins with a state that is as new.
class ClassicState {
 public:
  static ClassicState& of(sched::Thread& t);

  detail::context_node& group() { return group_->node(); }

  // Puts a root task into the group that the thread is in.
  static void set_group_here(sched::Thread& t, detail::classic_record& r);

  // Puts a task into the thread's own group. A worker's tasks are never in a cancelled one: no wait
  // of a worker would reset it.
  static void set_lasting_group(sched::Thread& t, detail::classic_record& r);

  // Returns the placeholder for the code that the thread runs, in the group it is in. task::self()
  // returns it outside of classic tasks.
  task& placeholder();

  // Whether a thread that has waited in the group is in no task, and the group is the thread's own.
  static bool is_outermost_wait(const detail::thread_data& thread,
                                const detail::context_node& group);

  // Resets the group; throws what the thread's tasks have thrown.
  static void end_outermost_wait(sched::Thread& t);

 private:
  // Never spawned.
  struct Placeholder : task {
    Placeholder* next = nullptr;

    task* execute() override { return nullptr; }
    detail::classic_record& record() { return detail::classic_record::of(*this); }
  };

  static constexpr unsigned kManyPlaceholders = 64;

  explicit ClassicState(sched::Thread& t) : thread_(t), group_(&OwnGroup::take()) {}

  bool has_children();
  void renew_group();

  sched::Thread& thread_;
  OwnGroup* group_;
  Placeholder* placeholders_ = nullptr;
  ClassicState* next_left_ = nullptr;
};

}  // namespace corbel::classic
