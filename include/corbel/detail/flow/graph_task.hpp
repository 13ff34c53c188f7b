// SPDX-License-Identifier: Apache-2.0
// The tasks of a flow graph. Not for programs to include.
//
// A node's try_put_task(message) returns what is to be done next:
//   nullptr                the message was rejected
//   successfully_enqueued  it was accepted, and there is nothing for the caller to do
//   a task                 it was accepted, and the caller must make sure that the task runs
// A task that is returned is not counted in the graph. Its receiver either spawns it (submit),
// which counts it, or is itself a task of the graph and returns it to run next in the same thread:
// then it takes over the caller's reservation. So a chain of nodes runs in one thread, without its
// deque and without counting.
#ifndef CORBEL_DETAIL_FLOW_GRAPH_TASK_HPP
#define CORBEL_DETAIL_FLOW_GRAPH_TASK_HPP

#include <cstdint>
#include <utility>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/new_task.hpp>
#include <corbel/detail/succeeds.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace flow {

class graph;

// The priority of a node: its tasks are taken before those of lower priority.
using node_priority_t = unsigned int;
constexpr node_priority_t no_priority = 0;

// A task of a graph, made by detail::make_graph_task.
class graph_task : public detail::task_base {
 public:
  graph_task(function f, graph& g, node_priority_t p) : task_base(f), owner(g), priority(p) {}

  graph& owner;
  const node_priority_t priority;
  graph_task* next;  // in the list of those that wait, in their node or to be passed on
};

}  // namespace flow

namespace detail {

using flow::graph_task;

struct graph_access;

// Not a task; see above.
inline graph_task* successfully_enqueued() {
  return reinterpret_cast<graph_task*>(~std::uintptr_t{0});
}
inline bool is_task(const graph_task* t) {
  return t != nullptr && t != reinterpret_cast<const graph_task*>(~std::uintptr_t{0});
}

// Counts the task in its graph and makes it available to the threads of the graph's arena. Any
// thread may call it that holds no lock of a node. Without memory for that, runs the task here: a
// message that has been accepted is not lost.
void submit(graph_task& task) noexcept;

// For a thread that holds the lock of a node, so that nothing can run here. Without memory returns
// false and cancels the graph, as an exception of a body does; the task is still the caller's.
bool try_submit(graph_task& task) noexcept;

// Spawns the task, which is counted, in a thread of the graph's arena; returns false if there is no
// memory.
inline bool try_spawn(thread_data& thread, task_base& task) noexcept {
  return succeeds([&] { spawn(thread, task); });
}

// Submits `left` and returns `right` if both are tasks; otherwise returns the one that says more.
inline graph_task* combine_tasks(graph_task* left, graph_task* right) noexcept {
  if (!is_task(right)) return left == nullptr ? right : left;
  if (is_task(left)) submit(*left);
  return right;
}

// What the successors of a node have returned, until it is passed on. A task is submitted at the
// end of the scope if it has not been, because another successor has thrown.
class next_task {
 public:
  next_task() = default;
  ~next_task() {
    if (CORBEL_UNLIKELY(is_task(task_))) submit(*task_);
  }
  next_task(const next_task&) = delete;
  next_task& operator=(const next_task&) = delete;

  // Adds what try_put_task has returned.
  void add(graph_task* task) noexcept { task_ = combine_tasks(task_, task); }
  graph_task* take() {
    graph_task* const t = task_;
    task_ = nullptr;
    return t;
  }
  // Whether there is a task to be run.
  bool is_some() const { return is_task(task_); }

 private:
  graph_task* task_ = nullptr;
};

// Ends a task of graph `g` whose body has returned `next`: returns the task that the thread runs
// next, or ends the reservation.
task_base* end_graph_task(thread_data& thread, flow::graph& g, graph_task* next) noexcept;

// Called by a task without priority that is about to begin: if one with a priority waits in the
// graph, puts `task` back into the deque, sets `next` to the other one and returns true.
bool let_urgent_first(thread_data& thread, graph_task& task, task_base*& next) noexcept;

// Base of a kind of tasks. Derived has
//   graph_task* execute(thread_data&)  the work; returns what try_put_task returns. May throw: the
//                                      exception cancels the graph
//   graph_task* cancel(thread_data&)   instead of execute, in a graph that is cancelled; does not
//                                      throw
// and a destructor that does not throw. The task is destroyed after either.
template <typename Derived>
class graph_task_of : public graph_task {
 protected:
  explicit graph_task_of(flow::graph& g, flow::node_priority_t p = flow::no_priority);

 private:
  static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
    Derived* const task = static_cast<Derived*>(static_cast<graph_task*>(self));
    flow::graph& g = task->owner;
    graph_task* next = nullptr;
    if (CORBEL_LIKELY(!cancelled)) {
      task_base* urgent;
      if (CORBEL_UNLIKELY(let_urgent_first(thread, *task, urgent))) return urgent;
      call_captured(*task->context, [&] { next = task->execute(thread); });
    } else {
      next = task->cancel(thread);
    }
    delete_task(thread, task);
    return end_graph_task(thread, g, next);
  }
};

// Makes a task of a graph; see the top of this file for how it is passed on. Throws bad_alloc and
// what the constructor throws.
template <typename Task, typename... Arguments>
inline Task* make_graph_task(Arguments&&... arguments) {
  return new_task<Task>(current_thread(), std::forward<Arguments>(arguments)...);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_GRAPH_TASK_HPP
