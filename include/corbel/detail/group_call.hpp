// SPDX-License-Identifier: Apache-2.0
// What a call of a parallel algorithm is made of: the context its tasks run in, and tasks that a
// wait_count counts. Not for programs to include.
#ifndef CORBEL_DETAIL_GROUP_CALL_HPP
#define CORBEL_DETAIL_GROUP_CALL_HPP

#include <corbel/detail/fork.hpp>
#include <corbel/detail/new_task.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// Makes `node` the context of the thread until the end of the scope.
class context_switch {
 public:
  context_switch(worker& w, context_node& node) : worker_(w), outer_(w.context) {
    w.context = &node;
  }
  ~context_switch() { worker_.context = outer_; }
  context_switch(const context_switch&) = delete;
  context_switch& operator=(const context_switch&) = delete;

 private:
  worker& worker_;
  context_node* const outer_;
};

// Calls f(w, group), the algorithm, in a context of its own below the thread's. What f or its tasks
// throw is thrown here, when f has ended. Does nothing in a cancelled context.
template <typename F>
inline void call_in_group(F&& f) {
  worker& w = current_worker();
  context_node& outer = *w.context;
  if (w.is_cancelled(outer)) return;
  context_node group;
  group.attach_to(outer);
  const context_switch scope(w, group);
  call_captured(group, [&] { f(w, group); });
  if (group.has_failed()) rethrow_exception(group);
}

// The same in the program's context, which is cancelled by what is thrown and keeps it: whoever
// uses it at the time throws it, too.
template <typename F>
inline void call_in_group(task_group_context& context, F&& f) {
  worker& w = current_worker();
  context_use use(w, context);
  context_node& group = use.node();
  if (w.is_cancelled(group)) return;
  const context_switch scope(w, group);
  call_captured(group, [&] { f(w, group); });
  if (group.has_failed()) rethrow_copy(group);
}

// Counts the task and spawns it. If that throws, it is not counted.
inline void spawn_counted(worker& w, wait_count& pending, task_base& task) {
  struct reservation {
    worker& owner;
    wait_count* count;
    ~reservation() {
      if (count != nullptr) count->release(owner);
    }
  } reserved{w, &pending};
  pending.reserve();
  spawn(w, task);
  reserved.count = nullptr;
}

// The same for a task that new_task made, in the given group. If that throws, the task is deleted.
template <typename T>
inline void spawn_new(worker& w, context_node& group, wait_count& pending, T* task) {
  struct keeper {
    worker& owner;
    T* kept;
    ~keeper() {
      if (kept != nullptr) delete_task(owner, kept);
    }
  } keep{w, task};
  task->context = &group;
  spawn_counted(w, pending, *task);
  keep.kept = nullptr;
}

// A task that does a part of a call of an algorithm: part.run(w, call).
template <typename Call, typename Part>
struct part_task : task_base {
  Call& call;
  wait_count& pending;
  Part part;

  part_task(Call& c, wait_count& count, const Part& p)
      : task_base(&execute), call(c), pending(count), part(p) {}

  static task_base* execute(task_base* self, worker& w, bool cancelled) {
    part_task* const task = static_cast<part_task*>(self);
    if (!cancelled) call_captured(*task->context, [&] { task->part.run(w, task->call); });
    wait_count& count = task->pending;
    delete_task(w, task);
    count.release(w);
    return nullptr;
  }
};

// Leaves a part of the call to whoever comes. Throws bad_alloc, and what copying the part throws;
// nothing is left to anybody then.
template <typename Call, typename Part>
inline void offer(worker& w, context_node& group, wait_count& pending, Call& call,
                  const Part& part) {
  spawn_new(w, group, pending, new_task<part_task<Call, Part>>(w, call, pending, part));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_CALL_HPP
