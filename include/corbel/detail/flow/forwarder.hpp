// SPDX-License-Identifier: Apache-2.0
// How a node passes on what it has to its successors: in a task of the graph, one at a time. Not
// for programs to include.
#ifndef CORBEL_DETAIL_FLOW_FORWARDER_HPP
#define CORBEL_DETAIL_FLOW_FORWARDER_HPP

#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/flow/graph.hpp>

namespace corbel {
namespace detail {

// Whether the thread runs a task of the graph. Other tasks of the program may have a context that
// it has given to the graph.
inline bool is_inside(const thread_data& thread, flow::graph& g) {
  return graph_access::has_own_context(g) &&
         thread.context == &context_access::node(graph_access::context(g));
}

// Keeps the graph from being idle until the end of the scope, if the thread is outside of the
// graph's tasks. A thread that relies on another one to forward its message returns before that one
// has submitted the task: without this, it could find the graph idle.
class outside_call {
 public:
  outside_call(thread_data& thread, flow::graph& g)
      : thread_(thread), graph_(is_inside(thread, g) ? nullptr : &g) {
    if (graph_ != nullptr) graph_access::tasks(*graph_).reserve(thread_);
  }
  ~outside_call() {
    if (graph_ != nullptr) graph_access::tasks(*graph_).release(thread_);
  }
  outside_call(const outside_call&) = delete;
  outside_call& operator=(const outside_call&) = delete;

  // What try_put_task returns for a task that is to run: the task itself, or, outside, only that
  // the message was accepted.
  graph_task* pass(graph_task& task) {
    if (graph_ == nullptr) return &task;
    if (CORBEL_LIKELY(&task.owner == graph_)) {
      graph_ = nullptr;  // the task takes over the reservation
      submit_counted(thread_, task);
    } else {
      submit(task);
    }
    return successfully_enqueued();
  }

 private:
  thread_data& thread_;
  flow::graph* graph_;
};

// The task in which a node forwards, and whose turn it is. A part of the node, so that forwarding
// needs no memory. Node has
//   graph_task* forward(thread_data&)   forwards; calls stop() at the end, also if it throws
//   void stop_forwarding()              calls stop(), or has the task run again: it was cancelled
// All functions but graph() and task() are called under the node's lock.
template <typename Node>
class forwarder : private graph_task {
 public:
  forwarder(flow::graph& g, Node& node) : graph_task(&run, g, flow::no_priority), node_(node) {
    context = &context_access::node(graph_access::context(g));
  }

  // Requests that the node forwards. Returns whether the caller must have task() run,
  // after it has left the lock; otherwise the task is waiting to run, or runs and will look again.
  bool request() {
    again_ = true;
    if (busy_) return false;
    return busy_ = true;
  }
  bool is_busy() const { return busy_; }
  bool must_look() const { return again_; }
  // Called before the node looks at what it has.
  void look() { again_ = false; }
  // Ends the turn.
  void stop() { busy_ = false; }

  // Called without the lock by the task, which then ends at once: has another run of the task
  // continue its turn. Returns false if there is no memory for that.
  bool run_again(thread_data& thread) {
    group_count& count = graph_access::tasks(owner);
    count.reserve(thread);
    if (CORBEL_LIKELY(try_spawn(thread, *this))) return true;
    count.release(thread);
    return false;
  }

  // After so many messages a task lets what follows from them run, if there is something, and
  // continues later: the memory of tasks that wait is limited, and used again while it is cached.
  static constexpr int kMaxMessages = 16;

  // The task, to be run once.
  graph_task& task() { return *this; }
  flow::graph& graph() const { return this->owner; }

 private:
  static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
    forwarder& task = *static_cast<forwarder*>(self);
    flow::graph& g = task.owner;
    context_node& context = *task.context;
    if (CORBEL_UNLIKELY(cancelled)) {
      task.node_.stop_forwarding();
      return end_graph_task(thread, g, nullptr);
    }
    task_base* urgent;
    if (CORBEL_UNLIKELY(let_urgent_first(thread, task, urgent))) return urgent;
    graph_task* next = nullptr;
    call_captured(context, [&] { next = task.node_.forward(thread); });
    return end_graph_task(thread, g, next);
  }

  Node& node_;
  bool busy_ = false;
  bool again_ = false;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_FORWARDER_HPP
