// SPDX-License-Identifier: Apache-2.0
#include <corbel/classic/task_scheduler_init.hpp>

#include <new>

#include "base/thread_variable.hpp"
#include "sched/core/thread.hpp"
#include "sched/core/width.hpp"
#include "sched/pool/attach.hpp"
#include "sched/pool/controls.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {

namespace {

// The number of active objects in this thread.
CORBEL_THREAD_VARIABLE(unsigned, active_inits) = 0;

}  // namespace

void task_scheduler_init::initialize(int number_of_threads, stack_size_type thread_stack_size) {
  if (is_active() || number_of_threads == deferred) return;
  const int threads = number_of_threads > 0 ? number_of_threads : default_num_threads();
  if (thread_stack_size != 0) {
    sched::controls().add(global_control::thread_stack_size, thread_stack_size);
  }
  try {
    sched::controls().add_minimum(unsigned(threads));
  } catch (...) {
    if (thread_stack_size != 0) {
      sched::controls().remove(global_control::thread_stack_size, thread_stack_size);
    }
    throw;
  }
  threads_ = threads;
  stack_size_ = thread_stack_size;
  if (active_inits++ != 0 || !sched::is_outside_tasks()) return;
  sched::restart_thread(unsigned(threads));
  // The thread is in its arena from now on, and not only from its first call that needs one: a
  // task_arena can attach to it.
  try {
    sched::Thread::current();
  } catch (...) {
    terminate();
    throw;
  }
}

void task_scheduler_init::terminate() noexcept {
  if (!is_active()) return;
  sched::controls().remove_minimum(unsigned(threads_));
  if (stack_size_ != 0) sched::controls().remove(global_control::thread_stack_size, stack_size_);
  threads_ = 0;
  stack_size_ = 0;
  if (--active_inits == 0 && sched::is_outside_tasks()) sched::restart_thread(0);
}

bool task_scheduler_init::blocking_terminate(const std::nothrow_t&) noexcept {
  terminate();
  return sched::is_outside_tasks() && sched::thread_pool.finalize();
}

void task_scheduler_init::blocking_terminate() {
  if (!blocking_terminate(std::nothrow)) {
    detail::raise_own(unsafe_wait("the threads of the scheduler could not be waited for"));
  }
}

int task_scheduler_init::default_num_threads() { return int(sched::default_width()); }

}  // namespace corbel
