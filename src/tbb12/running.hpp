// SPDX-License-Identifier: Apache-2.0
// What the calling thread runs for a program that was compiled with oneTBB's headers.
#pragma once

#include <corbel/task_arena.hpp>

#include "tbb12/layout.hpp"

namespace corbel::tbb12 {

using namespace tbb::detail;
using corbel::detail::context_access;
using corbel::detail::context_node;
using corbel::detail::current_thread;
using corbel::detail::task_base;
using corbel::detail::thread_data;

// What a task or a filter is called with. It is on the stack of the call.
struct Running : d1::execution_data {
  thread_data& thread;
  d1::task* task;  // nullptr in a filter
};

// The innermost call on the current stack of the calling thread; nullptr outside of tasks and
// filters, and in a call of the library that may run others.
extern __thread Running* running CORBEL_INITIAL_EXEC;

// Sets `running` until the end of a call, to nullptr for one in which the thread may run other
// tasks and change its stack: no stack ever knows of a call on another one.
class RunningScope {
 public:
  RunningScope() : outer_(running) { running = nullptr; }
  explicit RunningScope(Running& now) : outer_(running) { running = &now; }
  ~RunningScope() { running = outer_; }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  Running* const outer_;
};

// The context that a context stands for: itself, unless it is a proxy.
inline d1::task_group_context& actual_context(d1::task_group_context& c) {
  // relaxed: a context is a proxy from its constructor on
  const bool is_proxy = c.state.load(std::memory_order_relaxed) == d1::task_group_context::kProxy;
  return CORBEL_UNLIKELY(is_proxy) ? *c.actual : c;
}

inline context_node& node_of(d1::task_group_context& c) {
  return context_access::node(d1::own_context(c));
}
inline d1::task_group_context& context_of(context_node& node) {
  unsigned char* const own = reinterpret_cast<unsigned char*>(context_access::context(node));
  return *reinterpret_cast<d1::task_group_context*>(own - offsetof(d1::task_group_context, own));
}

inline d1::task& task_of(task_base* own) {
  unsigned char* const fields =
      reinterpret_cast<unsigned char*>(own) - offsetof(d1::task_fields, own);
  return static_cast<d1::task&>(*reinterpret_cast<d1::task_fields*>(fields));
}

// The arena; nullptr before it is made.
inline corbel::detail::arena_handle* handle_of(const d1::task_arena_base& a) {
  // (1) acquire: sees the arena, published by (2) in arena.cpp
  return reinterpret_cast<corbel::detail::arena_handle*>(a.arena.load(std::memory_order_acquire));
}

// Makes the task one of Corbel's, of the given context.
void prepare(d1::task& t, context_node& node, d1::slot_id affinity);

// The context of tasks that are enqueued without one.
d1::task_group_context& no_context();

}  // namespace corbel::tbb12
