// SPDX-License-Identifier: Apache-2.0
// What a thread has for its classic tasks: a group for those that it begins outside of all tasks,
// and tasks that stand for whatever else it does.
#pragma once

#include <corbel/task.hpp>

#include "sched/thread.hpp"

namespace corbel::compat {

// Lives as long as the Thread, that is for ever: enqueued tasks may outlast the program's thread.
class ClassicHome {
 public:
  static ClassicHome& of(sched::Thread& t);

  detail::context_node& group() { return detail::context_access::node(group_); }

  // Puts a root into the group of what the thread does.
  static void set_group_here(sched::Thread& t, detail::classic_record& r);

  // The task that stands for what the thread does, in its group.
  task& stand_in();

  // Whether a thread that has waited in the group is in no task any more and the group is its own.
  static bool is_outermost_wait(const detail::worker& w, const detail::context_node& group);

  // Throws what the thread's tasks have thrown. The group is as new.
  static void end_outermost_wait(sched::Thread& t);

 private:
  // Is never spawned.
  struct StandIn : task {
    StandIn* next = nullptr;

    task* execute() override { return nullptr; }
    detail::classic_record& record() { return detail::classic_record::of(*this); }
  };

  static constexpr unsigned kManyStandIns = 64;

  explicit ClassicHome(sched::Thread& t) : thread_(t) {}

  sched::Thread& thread_;
  task_group_context group_{task_group_context::isolated};
  StandIn* stand_ins_ = nullptr;
};

}  // namespace corbel::compat
