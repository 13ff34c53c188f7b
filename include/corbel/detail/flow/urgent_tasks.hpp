// SPDX-License-Identifier: Apache-2.0
// The tasks of a graph's nodes that have a priority. Not for programs to include.
//
// Invariant: there are at least as many picks to come as tasks in the heap. A pick takes the most
// urgent task, which need not be the one that the pick was made for. A selector in a deque is a
// pick. A task that exchanges another one for one of the heap does both in one step: between them,
// other threads could run all tasks and end the graph, and the heap with it. Tasks without priority
// look into the heap before they begin, so that an urgent task waits for no queue.
#ifndef CORBEL_DETAIL_FLOW_URGENT_TASKS_HPP
#define CORBEL_DETAIL_FLOW_URGENT_TASKS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/pointer_list.hpp>

namespace corbel {
namespace detail {

// A binary heap. Any thread may call any member at any time.
template <typename Task, template <typename> class Atomic = plain_atomic,
          typename Lock = spinning_mutex>
class basic_urgent_tasks {
 public:
  // A hint: whether there may be a task.
  bool may_have_some() const {
    // relaxed: a task that is missed is taken by its selector
    return CORBEL_UNLIKELY(count_.load(std::memory_order_relaxed) != 0);
  }

  // Throws bad_alloc.
  void push(Task& task) {
    const mutex_guard<Lock> lock(lock_);
    heap_.push_back(&task);
    std::size_t i = heap_.size() - 1;
    for (; i > 0; i = (i - 1) / 2) {
      Task* const above = heap_[(i - 1) / 2];
      if (above->priority >= task.priority) break;
      heap_[i] = above;
    }
    heap_[i] = &task;
    publish_size();
  }

  // Removes and returns a task of the highest priority; nullptr if there is none.
  Task* pop() {
    const mutex_guard<Lock> lock(lock_);
    if (heap_.size() == 0) return nullptr;
    Task* const first = heap_[0];
    Task* const last = heap_.pop_back();
    if (heap_.size() > 0) replace_first(*last);
    publish_size();
    return first;
  }

  // Does what push(task) and pop() do, in one step and without memory.
  Task* push_and_pop(Task& task) {
    const mutex_guard<Lock> lock(lock_);
    if (heap_.size() == 0 || heap_[0]->priority < task.priority) return &task;
    Task* const first = heap_[0];
    replace_first(task);
    return first;
  }

 private:
  void replace_first(Task& task) {
    std::size_t i = 0;
    for (;;) {
      std::size_t below = 2 * i + 1;
      if (below >= heap_.size()) break;
      if (below + 1 < heap_.size() && heap_[below + 1]->priority > heap_[below]->priority) ++below;
      if (heap_[below]->priority <= task.priority) break;
      heap_[i] = heap_[below];
      i = below;
    }
    heap_[i] = &task;
  }

  // relaxed: a hint
  void publish_size() { count_.store(std::uint32_t(heap_.size()), std::memory_order_relaxed); }

  Atomic<std::uint32_t> count_{0};
  Lock lock_;
  pointer_list<Task> heap_;
};

using urgent_tasks = basic_urgent_tasks<graph_task>;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_URGENT_TASKS_HPP
