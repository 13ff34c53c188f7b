// SPDX-License-Identifier: Apache-2.0
// The tasks of a graph's nodes that have a priority. Not for programs to include.
//
// Invariant: there are at least as many picks to come as tasks in the heap. A pick takes the most
// urgent task, which need not be the one that the pick was made for. A selector in a deque is a
// pick; so is a task that puts another one into the heap and takes one out. Tasks without priority
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
class urgent_tasks {
 public:
  // A hint: whether there may be a task.
  bool may_have_some() const {
    // relaxed: a task that is missed is taken by its selector
    return CORBEL_UNLIKELY(count_.load(std::memory_order_relaxed) != 0);
  }

  // Throws bad_alloc.
  void push(graph_task& task) {
    const flow_lock lock(mutex_);
    heap_.push_back(&task);
    std::size_t i = heap_.size() - 1;
    for (; i > 0; i = (i - 1) / 2) {
      graph_task* const above = heap_[(i - 1) / 2];
      if (above->priority >= task.priority) break;
      heap_[i] = above;
    }
    heap_[i] = &task;
    publish_size();
  }

  // Removes and returns a task of the highest priority; nullptr if there is none.
  graph_task* pop() {
    const flow_lock lock(mutex_);
    if (heap_.size() == 0) return nullptr;
    graph_task* const first = heap_[0];
    graph_task* const last = heap_.pop_back();
    const std::size_t size = heap_.size();
    std::size_t i = 0;
    for (;;) {
      std::size_t below = 2 * i + 1;
      if (below >= size) break;
      if (below + 1 < size && heap_[below + 1]->priority > heap_[below]->priority) ++below;
      if (heap_[below]->priority <= last->priority) break;
      heap_[i] = heap_[below];
      i = below;
    }
    if (size > 0) heap_[i] = last;
    publish_size();
    return first;
  }

 private:
  // relaxed: a hint
  void publish_size() { count_.store(std::uint32_t(heap_.size()), std::memory_order_relaxed); }

  std::atomic<std::uint32_t> count_{0};
  spinning_mutex mutex_;
  pointer_list<graph_task> heap_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_URGENT_TASKS_HPP
