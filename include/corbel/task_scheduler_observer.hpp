// SPDX-License-Identifier: Apache-2.0
// Hears of threads that enter and leave arenas. C++11 upwards. Follows the oneTBB specification
// 1.4, and TBB 2020 where it has more.
#ifndef CORBEL_TASK_SCHEDULER_OBSERVER_HPP
#define CORBEL_TASK_SCHEDULER_OBSERVER_HPP

#include <atomic>

#include <corbel/detail/config.hpp>
#include <corbel/task_arena.hpp>

namespace corbel {

namespace detail {
struct observation;
}

// Derive from it and call observe(). One thread at a time may call observe.
class task_scheduler_observer {
 public:
  // Of the arena in which observe is called.
  task_scheduler_observer() = default;

  // Of that arena.
  explicit task_scheduler_observer(task_arena& arena) : arena_(&arena) {}

  // As in TBB 2020: `local` is the default constructor; else of all arenas, where a thread of the
  // program enters once, and leaves when it ends.
  explicit task_scheduler_observer(bool local) : is_global_(!local) {}

  // A derived class whose functions may be called by other threads has to call observe(false) in
  // its own destructor.
  virtual ~task_scheduler_observer() { observe(false); }

  task_scheduler_observer(const task_scheduler_observer&) = delete;
  task_scheduler_observer& operator=(const task_scheduler_observer&) = delete;

  // Begins to observe, or ends it: then it returns when no other thread is in one of the functions
  // below, and none will be. Threads that are in the arena already enter now if they are the
  // calling one, others with the next task they take from another thread. Throws bad_alloc.
  CORBEL_EXPORT void observe(bool state = true);

  // Whether it observes.
  bool is_observing() const { return observation_.load(std::memory_order_relaxed) != nullptr; }

  // A thread has entered; `is_worker` says whether it is one of the library's. What they throw ends
  // the program.
  virtual void on_scheduler_entry(bool is_worker) { static_cast<void>(is_worker); }

  // A thread that has entered is about to leave.
  virtual void on_scheduler_exit(bool is_worker) { static_cast<void>(is_worker); }

 private:
  task_arena* const arena_ = nullptr;
  const bool is_global_ = false;
  std::atomic<detail::observation*> observation_{nullptr};
};

}  // namespace corbel

#endif  // CORBEL_TASK_SCHEDULER_OBSERVER_HPP
