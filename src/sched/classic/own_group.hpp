// SPDX-License-Identifier: Apache-2.0
// The group of a thread for the classic tasks that it begins outside of all tasks.
#pragma once

#include <atomic>
#include <cstdint>

#include <corbel/task_group_context.hpp>

namespace corbel::classic {

// Never freed, since tasks that a thread has enqueued may outlast it. Another thread may use the
// group later if it is not cancelled and none of the thread's tasks is enqueued. Tasks that the
// thread has spawned and not waited for, and those that outlast an enqueued task that spawned
// them, are not counted: they may meet the next thread in the group.
class OwnGroup : public task_group_context {
 public:
  // Returns one that no thread uses. Throws bad_alloc.
  static OwnGroup& take();
  // Lets other threads use the group as soon as is_unused().
  static void give_back(OwnGroup& group) noexcept;

  static OwnGroup& of(detail::context_node& node) {
    return static_cast<OwnGroup&>(*detail::context_access::context(node));
  }
  detail::context_node& node() { return detail::context_access::node(*this); }

  // Counts an enqueued task of the group until it has run, and the tasks that follow it by bypass.
  void begin_enqueued() {
    enqueued_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the queue publishes the task
  }
  void end_enqueued() {
    // (1) release: publishes what the task did to the group, perhaps its cancellation, to (2)
    enqueued_.fetch_sub(1, std::memory_order_release);
  }

  // Whether another thread may use it.
  bool is_unused() {
    // (2) acquire: sees what the tasks did before (1)
    return enqueued_.load(std::memory_order_acquire) == 0 && !detail::find_cancelled(node());
  }

 private:
  OwnGroup() : task_group_context(isolated) {}

  std::atomic<std::uint32_t> enqueued_{0};
  OwnGroup* next_ = nullptr;
};

}  // namespace corbel::classic
