// SPDX-License-Identifier: Apache-2.0
// How programs for TBB 2020 set the number of threads. C++11 and later. Follows TBB 2020
// (task_scheduler_init). New programs use task_arena and global_control.
#ifndef CORBEL_CLASSIC_TASK_SCHEDULER_INIT_HPP
#define CORBEL_CLASSIC_TASK_SCHEDULER_INIT_HPP

#include <cstddef>
#include <new>

#include <corbel/detail/config.hpp>

namespace corbel {

// While an object is active, the thread limit is at least the given number of threads (unless a
// global_control sets max_allowed_parallelism), and the thread that activated the object is in an
// arena of that number of threads. Only the first active object of a thread gives it such an
// arena, and only if it is activated outside of tasks and arenas. The thread that activated an
// object must be the one that terminates it.
class task_scheduler_init {
 public:
  using stack_size_type = std::size_t;

  // The number of threads the process may run at once.
  static constexpr int automatic = -1;
  // Leaves the object inactive until initialize is called.
  static constexpr int deferred = -2;

  // Calls initialize. `thread_stack_size` is that of global_control, in bytes; 0 leaves it as it
  // is.
  explicit task_scheduler_init(int number_of_threads = automatic,
                               stack_size_type thread_stack_size = 0) {
    initialize(number_of_threads, thread_stack_size);
  }
  ~task_scheduler_init() { terminate(); }
  task_scheduler_init(const task_scheduler_init&) = delete;
  task_scheduler_init& operator=(const task_scheduler_init&) = delete;

  // Activates the object. Does nothing with `deferred`, or if the object is active. Throws
  // bad_alloc.
  CORBEL_EXPORT void initialize(int number_of_threads = automatic,
                                stack_size_type thread_stack_size = 0);

  // Makes the object inactive. Does nothing if it is.
  CORBEL_EXPORT void terminate() noexcept;

  // Does what terminate does, then waits until the library's threads have ended. Returns false,
  // without waiting, inside a task or an arena.
  CORBEL_EXPORT bool blocking_terminate(const std::nothrow_t&) noexcept;

  // Like the form above, but throws unsafe_wait instead of returning false.
  CORBEL_EXPORT void blocking_terminate();

  // Returns whether the object is active.
  bool is_active() const { return threads_ != 0; }

  // Returns the number of threads the process may run at once. Any thread may call it.
  CORBEL_EXPORT static int default_num_threads();

 private:
  int threads_ = 0;  // 0: not active
  stack_size_type stack_size_ = 0;
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_TASK_SCHEDULER_INIT_HPP
