// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/fork.hpp"

#include "os/os.hpp"
#include "sched/arena/observers.hpp"
#include "sched/core/block_pool.hpp"
#include "sched/core/epoch_readers.hpp"
#include "sched/core/parked_threads.hpp"
#include "sched/core/thread_records.hpp"
#include "sched/pool/thread_pool.hpp"
#include "sched/trace/trace_output.hpp"

namespace corbel::sched {
namespace {

using LockOfControls = sync::Lock& (*)();
constinit LockOfControls controls_lock = nullptr;

// Waits in controls_lock() for a thread that is still in hook_forks: the child would hook them
// again. Takes the arenas' locks too: the child's one thread is in an arena that other threads may
// be searching.
void before_fork() {
  sync::Lock::begin_fork();
  controls_lock().lock_for_fork();
  thread_pool.lock().lock_for_fork();
  parked_threads.lock().lock_for_fork();
  unused_threads_lock().lock_for_fork();
  epoch_readers_lock().lock_for_fork();
  observers.lock().lock_another_for_fork();
  thread_pool.each_arena_lock([](sync::Lock& lock) { lock.lock_another_for_fork(); });
  trace::output_lock().lock_another_for_fork();
  block_pool_lock().lock_another_for_fork();
}

void unlock_in_parent() {
  block_pool_lock().unlock_after_fork_in_parent();
  trace::output_lock().unlock_after_fork_in_parent();
  thread_pool.each_arena_lock([](sync::Lock& lock) { lock.unlock_after_fork_in_parent(); });
  observers.lock().unlock_after_fork_in_parent();
  epoch_readers_lock().unlock_after_fork_in_parent();
  unused_threads_lock().unlock_after_fork_in_parent();
  parked_threads.lock().unlock_after_fork_in_parent();
  thread_pool.lock().unlock_after_fork_in_parent();
  controls_lock().unlock_after_fork_in_parent();
}

void unlock_in_child() {
  block_pool_lock().unlock_after_fork_in_child();
  trace::output_lock().unlock_after_fork_in_child();
  thread_pool.each_arena_lock([](sync::Lock& lock) { lock.unlock_after_fork_in_child(); });
  observers.lock().unlock_after_fork_in_child();
  epoch_readers_lock().unlock_after_fork_in_child();
  unused_threads_lock().unlock_after_fork_in_child();
  parked_threads.lock().unlock_after_fork_in_child();
  thread_pool.lock().unlock_after_fork_in_child();
  controls_lock().unlock_after_fork_in_child();
}

// See Lock::end_fork for 0.
void after_fork_in_parent() {
  if (sync::Lock::forks() != 0) unlock_in_parent();
  sync::Lock::end_fork();
}

void after_fork_in_child() {
  if (sync::Lock::forks() != 0) unlock_in_child();
  sync::Lock::end_fork();
  trace::stop();
  parked_threads.forget_all();
  forget_epoch_readers();
  observers.forget_calls();
  thread_pool.forget_threads(Thread::current_or_null());
}

}  // namespace

void hook_forks(sync::Lock& (*lock_of_controls)()) {
  controls_lock = lock_of_controls;
  os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace corbel::sched
