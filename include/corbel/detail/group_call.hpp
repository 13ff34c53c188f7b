// SPDX-License-Identifier: Apache-2.0
// The parts of a call of a parallel algorithm: a context for its tasks, and tasks that a wait_count
// counts. Not for programs to include.
#ifndef CORBEL_DETAIL_GROUP_CALL_HPP
#define CORBEL_DETAIL_GROUP_CALL_HPP

#include <type_traits>

#include <corbel/detail/new_task.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace detail {

// Calls `f`. What it throws is kept in the context, which it cancels.
template <typename F>
inline void call_captured(context_node& context, F&& f) {
#if CORBEL_EXCEPTIONS
  try {
    f();
  } catch (...) {
    capture_exception(context);
  }
#else
  static_cast<void>(context);
  f();
#endif
}

// Calls `f`. What it throws goes to the caller, or ends the program if the terminate_on_exception
// control is set.
template <typename F>
inline void call_passing(F&& f) {
#if CORBEL_EXCEPTIONS
  try {
    f();
  } catch (...) {
    pass_exception();
  }
#else
  f();
#endif
}

// Makes `node` the context of the thread until the end of the scope.
class context_switch {
 public:
  context_switch(thread_data& thread, context_node& node)
      : thread_(thread), outer_(thread.context) {
    thread.context = &node;
  }
  ~context_switch() { thread_.context = outer_; }
  context_switch(const context_switch&) = delete;
  context_switch& operator=(const context_switch&) = delete;

 private:
  thread_data& thread_;
  context_node* const outer_;
};

// Calls f(thread, group), the algorithm, in a new context below the thread's. What f or its tasks
// throw is thrown here after f has returned. Does nothing in a cancelled context.
template <typename F>
inline void call_in_group(F&& f) {
  thread_data& thread = current_thread();
  context_node& outer = *thread.context;
  if (thread.is_cancelled(outer)) return;
  const outermost_call call(thread);
  context_node group;
  group.attach_to(outer);
  const context_switch scope(thread, group);
  call_captured(group, [&] { f(thread, group); });
  if (group.has_failed()) rethrow_exception(group);
}

// Calls f(thread, group) in the program's context. An exception cancels that context and stays in
// it, so that every call that uses the context at the time throws it.
template <typename F>
inline void call_in_group(task_group_context& context, F&& f) {
  thread_data& thread = current_thread();
  context_use use(thread, context);
  context_node& group = use.node();
  if (thread.is_cancelled(group)) return;
  const context_switch scope(thread, group);
  call_captured(group, [&] { f(thread, group); });
  if (group.has_failed()) rethrow_copy(group);
}

// Whether Arguments, the last parameters of an algorithm, are one context or nothing.
template <typename... Arguments>
struct is_context_or_nothing : std::false_type {};
template <>
struct is_context_or_nothing<> : std::true_type {};
template <typename Argument>
struct is_context_or_nothing<Argument> : std::is_convertible<Argument, task_group_context&> {};
template <typename... Arguments>
using if_context_or_nothing =
    typename std::enable_if<is_context_or_nothing<Arguments...>::value>::type;

// Counts the task and spawns it. Strong guarantee; throws bad_alloc.
inline void spawn_counted(thread_data& thread, wait_count& pending, task_base& task) {
  struct reservation {
    thread_data& owner;
    wait_count* count;
    ~reservation() {
      if (count != nullptr) count->release(owner);
    }
  } reserved{thread, &pending};
  pending.reserve();
  spawn(thread, task);
  reserved.count = nullptr;
}

// Counts a task that new_task made and spawns it in the group. If that throws bad_alloc, the task
// is deleted.
template <typename T>
inline void spawn_new(thread_data& thread, context_node& group, wait_count& pending, T* task) {
  struct keeper {
    thread_data& owner;
    T* kept;
    ~keeper() {
      if (kept != nullptr) delete_task(owner, kept);
    }
  } keep{thread, task};
  task->context = &group;
  spawn_counted(thread, pending, *task);
  keep.kept = nullptr;
}

// A task that does a part of a call of an algorithm: part.run(thread, call).
template <typename Call, typename Part>
struct part_task : task_base {
  Call& call;
  wait_count& pending;
  Part part;

  part_task(Call& c, wait_count& count, const Part& p)
      : task_base(&execute), call(c), pending(count), part(p) {}

  static task_base* execute(task_base* self, thread_data& thread, bool cancelled) {
    part_task* const task = static_cast<part_task*>(self);
    if (!cancelled) call_captured(*task->context, [&] { task->part.run(thread, task->call); });
    wait_count& count = task->pending;
    delete_task(thread, task);
    count.release(thread);
    return nullptr;
  }
};

// Spawns a task for a part of the call. Strong guarantee; throws bad_alloc and what copying the
// part throws.
template <typename Call, typename Part>
inline void spawn_part(thread_data& thread, context_node& group, wait_count& pending, Call& call,
                       const Part& part) {
  spawn_new(thread, group, pending, new_task<part_task<Call, Part>>(thread, call, pending, part));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_CALL_HPP
