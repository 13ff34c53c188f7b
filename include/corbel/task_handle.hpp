// SPDX-License-Identifier: Apache-2.0
// Deferred tasks, and handles for the completion of a task. C++11 and later. Follows the oneTBB
// specification 1.4; completion handles follow its extension for task dependencies.
#ifndef CORBEL_TASK_HANDLE_HPP
#define CORBEL_TASK_HANDLE_HPP

#include <cstddef>
#include <utility>

#include <corbel/detail/group_task.hpp>

namespace corbel {

namespace detail {
struct handle_access;
}

// Owns a task that task_group::defer has made and that has not been submitted yet, or is empty. One
// thread at a time may use a handle. A wait for the task's group returns only after the task has
// run or its handle has been destroyed.
class task_handle {
 public:
  // Makes an empty handle.
  task_handle() noexcept = default;
  // Takes the task of `other`, which is empty afterwards.
  task_handle(task_handle&& other) noexcept : task_(other.task_) { other.task_ = nullptr; }

  // Drops its own task, then takes that of `other`, which is empty afterwards.
  task_handle& operator=(task_handle&& other) noexcept {
    if (this != &other) {
      drop();
      std::swap(task_, other.task_);
    }
    return *this;
  }

  // Drops its task: a task that was not submitted never runs.
  ~task_handle() { drop(); }

  // Returns whether it holds a task.
  explicit operator bool() const noexcept { return task_ != nullptr; }

  // An empty handle equals nullptr.
  friend bool operator==(const task_handle& h, std::nullptr_t) noexcept { return !h; }
  friend bool operator!=(const task_handle& h, std::nullptr_t) noexcept { return bool(h); }
  friend bool operator==(std::nullptr_t, const task_handle& h) noexcept { return !h; }
  friend bool operator!=(std::nullptr_t, const task_handle& h) noexcept { return bool(h); }

 private:
  friend struct detail::handle_access;
  explicit task_handle(detail::group_task& t) : task_(&t) {}

  void drop() noexcept {
    if (task_ == nullptr) return;
    task_->run(task_, detail::current_thread(), true);
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

// The body returns the task to run next. If that task must wait for others, the last of them spawns
// it.
template <typename F>
inline task_base* function_task<F>::call(std::true_type) {
  task_handle returned = call_as_const(body, 0);
  group_task* const next = handle_access::take(returned);
  if (next == nullptr) return nullptr;
  // relaxed: the owner of the handle stored it
  task_order* const waits = next->order.load(std::memory_order_relaxed);
  return waits == nullptr || may_begin(*waits) ? next : nullptr;
}

}  // namespace detail

// Refers to the completion of a task, before and after the task has ended. Two handles are equal if
// they refer to the same task. One thread at a time may use a handle; different handles of the same
// task may be used at the same time.
class task_completion_handle {
 public:
  // Makes a handle that refers to no task.
  task_completion_handle() noexcept = default;
  // Makes a handle for the task of `task`, which must hold one. Throws bad_alloc.
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

  // Returns whether it refers to a task.
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
