// SPDX-License-Identifier: Apache-2.0
// Settings of the scheduler for the whole process, and its end. C++11 upwards. Follows the oneTBB
// specification 1.4.
#ifndef CORBEL_GLOBAL_CONTROL_HPP
#define CORBEL_GLOBAL_CONTROL_HPP

#include <cstddef>
#include <new>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/task_arena.hpp>

namespace corbel {

// While an object of the class lives its value is in force, together with those of the others. All
// functions may be called from any thread.
class global_control {
 public:
  enum parameter {
    // How many threads work at a time, the calling one included. The smallest value counts; one
    // thread more runs what is enqueued where nobody else does. It may be more than the machine
    // has processors: for arenas that ask for as many, and for threads that begin to use the
    // library from now on. Without a value what the affinity mask and the container's quota grant.
    max_allowed_parallelism,
    // In bytes, of the library's threads that are started from now on, and of the stacks that a
    // thread goes on with while a task is suspended (task::suspend). The largest value counts;
    // without one the system's choice.
    thread_stack_size,
    // Nonzero: an exception that a task throws ends the program at once, with std::terminate, where
    // it is thrown. The largest value counts; 0 without one.
    terminate_on_exception,
    // 1 while there is a task_scheduler_handle; cannot be set.
    scheduler_handle,
    // A task_arena::leave_policy, for arenas that do not say; a wish, as there. The largest value
    // counts; automatic without one.
    leave_policy,
    parameter_max
  };

  // Throws invalid_argument for a parallelism of 0 and for what cannot be set; bad_alloc.
  CORBEL_EXPORT global_control(parameter p, std::size_t value);
  template <typename Enumeration,
            typename = typename std::enable_if<std::is_enum<Enumeration>::value>::type>
  global_control(parameter p, Enumeration value)
      : global_control(p, static_cast<std::size_t>(value)) {}
  CORBEL_EXPORT ~global_control();
  global_control(const global_control&) = delete;
  global_control& operator=(const global_control&) = delete;

  // The value that is in force.
  CORBEL_EXPORT static std::size_t active_value(parameter p);

 private:
  const std::size_t value_;
  const parameter parameter_;
};

// A promise to wait for the end of the library's threads: with finalize, or not at all with
// release. One thread at a time may use a handle.
class task_scheduler_handle {
 public:
  // Promises nothing.
  task_scheduler_handle() = default;
  task_scheduler_handle(corbel::attach) : holds_(true) { add(); }
  task_scheduler_handle(task_scheduler_handle&& other) noexcept : holds_(other.holds_) {
    other.holds_ = false;
  }
  task_scheduler_handle& operator=(task_scheduler_handle&& other) noexcept {
    if (this != &other) {
      release();
      holds_ = other.holds_;
      other.holds_ = false;
    }
    return *this;
  }
  ~task_scheduler_handle() { release(); }

  // The same as from attach(); the name that oneTBB had for it up to 2021.5.
  static task_scheduler_handle get() { return task_scheduler_handle(corbel::attach()); }

  // Whether it promises anything.
  explicit operator bool() const noexcept { return holds_; }
  friend bool operator==(const task_scheduler_handle& h, std::nullptr_t) noexcept { return !h; }
  friend bool operator!=(const task_scheduler_handle& h, std::nullptr_t) noexcept {
    return bool(h);
  }
  friend bool operator==(std::nullptr_t, const task_scheduler_handle& h) noexcept { return !h; }
  friend bool operator!=(std::nullptr_t, const task_scheduler_handle& h) noexcept {
    return bool(h);
  }

  // Takes the promise back.
  void release() noexcept {
    if (holds_) remove();
    holds_ = false;
  }

 private:
  friend bool finalize(task_scheduler_handle& handle, const std::nothrow_t&) noexcept;

  CORBEL_EXPORT static void add();
  CORBEL_EXPORT static void remove() noexcept;
  CORBEL_EXPORT static bool end_threads() noexcept;

  bool holds_ = false;
};

// Waits until the library's threads have ended, and releases the handle. False, and it has not
// waited, if there are other handles, or if called by a task or inside of an arena. The library can
// be used again afterwards. While another thread is in a parallel call the wait lasts until the
// library's threads have nothing left to do there.
inline bool finalize(task_scheduler_handle& handle, const std::nothrow_t&) noexcept {
  const bool held = handle.holds_;
  handle.release();
  return held && task_scheduler_handle::end_threads();
}

// The same; throws unsafe_wait where the other returns false.
inline void finalize(task_scheduler_handle& handle) {
  if (!finalize(handle, std::nothrow)) {
    detail::raise(unsafe_wait("the threads of the scheduler could not be waited for"));
  }
}

}  // namespace corbel

#endif  // CORBEL_GLOBAL_CONTROL_HPP
