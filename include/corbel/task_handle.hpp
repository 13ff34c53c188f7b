// SPDX-License-Identifier: Apache-2.0
// Tasks that wait to be submitted. C++11 upwards. Follows the oneTBB specification 1.4; completion
// handles follow its extension for dependencies between tasks.
#ifndef CORBEL_TASK_HANDLE_HPP
#define CORBEL_TASK_HANDLE_HPP

#include <cstddef>
#include <utility>

#include <corbel/detail/group_task.hpp>

namespace corbel {

namespace detail {
struct handle_access;
}

// A task that task_group::defer has made and that has not been submitted yet; or none. One thread
// at a time may use a handle. The wait of its group lasts until the task has run or its handle has
// been destroyed.
class task_handle {
 public:
  // Holds no task.
  task_handle() noexcept = default;
  task_handle(task_handle&& other) noexcept : task_(other.task_) { other.task_ = nullptr; }

  // Drops the task it held.
  task_handle& operator=(task_handle&& other) noexcept {
    if (this != &other) {
      drop();
      std::swap(task_, other.task_);
    }
    return *this;
  }

  // A task that is still here will never run.
  ~task_handle() { drop(); }

  // Whether it holds a task.
  explicit operator bool() const noexcept { return task_ != nullptr; }

  friend bool operator==(const task_handle& h, std::nullptr_t) noexcept { return !h; }
  friend bool operator!=(const task_handle& h, std::nullptr_t) noexcept { return bool(h); }
  friend bool operator==(std::nullptr_t, const task_handle& h) noexcept { return !h; }
  friend bool operator!=(std::nullptr_t, const task_handle& h) noexcept { return bool(h); }

 private:
  friend struct detail::handle_access;
  explicit task_handle(detail::group_task& t) : task_(&t) {}

  void drop() noexcept {
    if (task_ == nullptr) return;
    task_->run(task_, detail::current_worker(), true);
    task_ = nullptr;
  }

  detail::group_task* task_ = nullptr;
};

namespace detail {
struct handle_access {
  static task_handle make(group_task& t) { return task_handle(t); }
  static group_task* look(const task_handle& h) { return h.task_; }
  static group_task* take(task_handle& h) {
    group_task* const t = h.task_;
    h.task_ = nullptr;
    return t;
  }
};

// The body returns what the thread might do next. A task that must wait for others is left to them.
template <typename F>
inline task_base* function_task<F>::call(std::true_type) {
  task_handle returned = body();
  group_task* const next = handle_access::take(returned);
  if (next == nullptr) return nullptr;
  task_order* const after = next->order.load(std::memory_order_relaxed);  // relaxed: as in submit
  return after == nullptr || may_begin(*after) ? next : nullptr;
}

}  // namespace detail

// Stands for the end of a task, before and after it. Handles of one task are equal. One thread at a
// time may use a handle; several handles of one task are independent.
class task_completion_handle {
 public:
  // Stands for no task.
  task_completion_handle() noexcept = default;
  // `task` must hold one. Throws bad_alloc.
  task_completion_handle(const task_handle& task)
      : order_(&detail::order_of(*detail::handle_access::look(task))) {
    detail::keep(*order_);
  }
  task_completion_handle(const task_completion_handle& other) noexcept : order_(other.order_) {
    if (order_ != nullptr) detail::keep(*order_);
  }
  task_completion_handle(task_completion_handle&& other) noexcept : order_(other.order_) {
    other.order_ = nullptr;
  }
  task_completion_handle& operator=(task_completion_handle other) noexcept {
    std::swap(order_, other.order_);
    return *this;
  }
  ~task_completion_handle() {
    if (order_ != nullptr) detail::drop(*order_);
  }

  // Whether it stands for a task.
  explicit operator bool() const noexcept { return order_ != nullptr; }

  friend bool operator==(const task_completion_handle& a,
                         const task_completion_handle& b) noexcept {
    return a.order_ == b.order_;
  }
  friend bool operator!=(const task_completion_handle& a,
                         const task_completion_handle& b) noexcept {
    return a.order_ != b.order_;
  }
  friend bool operator==(const task_completion_handle& h, std::nullptr_t) noexcept { return !h; }
  friend bool operator!=(const task_completion_handle& h, std::nullptr_t) noexcept {
    return bool(h);
  }
  friend bool operator==(std::nullptr_t, const task_completion_handle& h) noexcept { return !h; }
  friend bool operator!=(std::nullptr_t, const task_completion_handle& h) noexcept {
    return bool(h);
  }

 private:
  friend class task_group;
  detail::task_order* order_ = nullptr;
};

}  // namespace corbel

#endif  // CORBEL_TASK_HANDLE_HPP
