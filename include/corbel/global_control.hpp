// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of the scheduler, and how to wait for its threads to end. C++11 and later.
// Follows the oneTBB specification 1.4.
#ifndef CORBEL_GLOBAL_CONTROL_HPP
#define CORBEL_GLOBAL_CONTROL_HPP

#include <cstddef>
#include <new>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/detail/context_node.hpp>
#include <corbel/detail/program_runtime.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/task_arena.hpp>

namespace corbel {

// Sets one parameter for the lifetime of the object. Where several objects set the same parameter,
// each parameter says which value is in effect. Any thread may call any function.
class global_control {
 public:
  enum parameter {
    // The number of threads that work at a time, the calling one included. The smallest value is in
    // effect. One additional thread runs tasks enqueued in arenas that no other thread may enter. A
    // value above the number of processors affects only arenas that request that many threads
    // (task_arena, task_scheduler_init): others stay at the default. Default: the number of
    // processors that the affinity mask and the container's quota grant.
    max_allowed_parallelism,
    // The stack size in bytes of workers started from now on, and of the stacks on which a thread
    // continues while a task is suspended (task::suspend), or when a wait finds that more than half
    // of its stack is used. The largest value is in effect. Default: the system's.
    thread_stack_size,
    // Nonzero: an exception that leaves a task ends the program with std::terminate. So does one
    // that these headers throw themselves, except bad_alloc and those of allocators and memory
    // pools. The largest value is in effect. Default: 0.
    terminate_on_exception,
    // 1 while there is a task_scheduler_handle. Cannot be set.
    scheduler_handle,
    // The default task_arena::leave_policy. Accepted and ignored, like that. The largest value is
    // in effect. Default: automatic.
    leave_policy,
    parameter_max
  };

  // Sets `p` to `value`. Throws std::invalid_argument for a parallelism of 0 and for a parameter
  // that cannot be set, and bad_alloc.
  CORBEL_EXPORT global_control(parameter p, std::size_t value);
  template <typename Enumeration,
            typename = typename std::enable_if<std::is_enum<Enumeration>::value>::type>
  global_control(parameter p, Enumeration value)
      : global_control(p, static_cast<std::size_t>(value)) {}
  // Withdraws the value.
  CORBEL_EXPORT ~global_control();
  global_control(const global_control&) = delete;
  global_control& operator=(const global_control&) = delete;

  // Returns the value of `p` that is in effect. Throws std::invalid_argument for an unknown
  // parameter.
  CORBEL_EXPORT static std::size_t active_value(parameter p);

 private:
  const std::size_t value_;
  const parameter parameter_;
};

// A reference to the scheduler. finalize releases it and waits for the library's threads to end;
// release and the destructor only release it. One thread at a time may use a handle.
class task_scheduler_handle {
 public:
  // Makes an empty handle.
  task_scheduler_handle() = default;
  // Makes a handle that is a reference to the scheduler. Throws bad_alloc.
  task_scheduler_handle(corbel::attach) : holds_(true) { add(); }
  // Moving takes the reference of `other`, which is empty afterwards. Assignment releases the old
  // one first.
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

  // Returns task_scheduler_handle(attach()), under its name in oneTBB up to 2021.5. Throws
  // bad_alloc.
  static task_scheduler_handle get() { return task_scheduler_handle(corbel::attach()); }

  // Returns whether the handle is a reference.
  explicit operator bool() const noexcept { return holds_; }
  friend bool operator==(const task_scheduler_handle& h, std::nullptr_t) noexcept { return !h; }
  friend bool operator!=(const task_scheduler_handle& h, std::nullptr_t) noexcept {
    return bool(h);
  }
  friend bool operator==(std::nullptr_t, const task_scheduler_handle& h) noexcept { return !h; }
  friend bool operator!=(std::nullptr_t, const task_scheduler_handle& h) noexcept {
    return bool(h);
  }

  // Releases the reference without waiting. Does nothing for an empty handle.
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

// Releases the handle and waits until the library's threads have ended. Returns false, without
// waiting, if the handle is empty, if called by a task or inside an arena, if another thread of the
// program has used the library and has not ended, or if there are both other handles and threads
// of the library. The library can be used again afterwards.
inline bool finalize(task_scheduler_handle& handle, const std::nothrow_t&) noexcept {
  const bool held = handle.holds_;
  handle.release();
  return held && task_scheduler_handle::end_threads();
}

// Like the form above, but throws unsafe_wait instead of returning false.
inline void finalize(task_scheduler_handle& handle) {
  if (!finalize(handle, std::nothrow)) {
    detail::raise_own(unsafe_wait("the threads of the scheduler could not be waited for"));
  }
}

}  // namespace corbel

#endif  // CORBEL_GLOBAL_CONTROL_HPP
