// SPDX-License-Identifier: Apache-2.0
// How programs for TBB 2020 say how many threads they want. C++11 upwards.
#ifndef CORBEL_TASK_SCHEDULER_INIT_HPP
#define CORBEL_TASK_SCHEDULER_INIT_HPP

#include <cstddef>
#include <new>

#include <corbel/detail/config.hpp>

namespace corbel {

// While an object is active the thread that activated it works in an arena of that many threads,
// and the library starts as many. The first object of a thread decides; one inside a task or arena
// changes nothing. Only the thread that activated an object may end it.
class task_scheduler_init {
 public:
  using stack_size_type = std::size_t;

  // As many threads as the process may use; and none yet, until initialize is called.
  static constexpr int automatic = -1;
  static constexpr int deferred = -2;

  // `thread_stack_size` as in global_control; 0: no wish.
  explicit task_scheduler_init(int number_of_threads = automatic,
                               stack_size_type thread_stack_size = 0) {
    initialize(number_of_threads, thread_stack_size);
  }
  ~task_scheduler_init() { terminate(); }
  task_scheduler_init(const task_scheduler_init&) = delete;
  task_scheduler_init& operator=(const task_scheduler_init&) = delete;

  // Does nothing with `deferred`, or if the object is active. Throws bad_alloc.
  CORBEL_EXPORT void initialize(int number_of_threads = automatic,
                                stack_size_type thread_stack_size = 0);

  // Makes it inactive, if it is not.
  CORBEL_EXPORT void terminate() noexcept;

  // The same, and waits until the library's threads have ended. False if it has not waited: inside
  // of a task or arena.
  CORBEL_EXPORT bool blocking_terminate(const std::nothrow_t&) noexcept;

  // The same; throws unsafe_wait where the other returns false.
  CORBEL_EXPORT void blocking_terminate();

  bool is_active() const { return threads_ != 0; }

  // As many as the process may use.
  CORBEL_EXPORT static int default_num_threads();

 private:
  int threads_ = 0;  // 0: not active
  stack_size_type stack_size_ = 0;
};

}  // namespace corbel

#endif  // CORBEL_TASK_SCHEDULER_INIT_HPP
