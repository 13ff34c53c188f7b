// SPDX-License-Identifier: Apache-2.0
// Observers of threads that enter and leave arenas. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_TASK_SCHEDULER_OBSERVER_HPP
#define CORBEL_TASK_SCHEDULER_OBSERVER_HPP

#include <atomic>

#include <corbel/detail/config.hpp>
#include <corbel/task_arena.hpp>

namespace corbel {

namespace detail {
struct observation;
}

// Derive from it, override the functions called on entry and exit, and call observe(). One thread
// at a time may call observe; any thread may call is_observing at any time.
class task_scheduler_observer {
 public:
  // Observes the arena in which observe is called.
  task_scheduler_observer() = default;

  // Observes `arena`, which must outlive the observer.
  explicit task_scheduler_observer(task_arena& arena) : arena_(&arena) {}

  // From TBB 2020. true: like the default constructor. false: observes all arenas together; an
  // external thread then enters once, and leaves when it ends.
  explicit task_scheduler_observer(bool local) : is_global_(!local) {}

  // Ends observing. A derived class must call observe(false) in its own destructor if other threads
  // may be calling its functions.
  virtual ~task_scheduler_observer() { observe(false); }

  task_scheduler_observer(const task_scheduler_observer&) = delete;
  task_scheduler_observer& operator=(const task_scheduler_observer&) = delete;

  // true begins, false ends observing. When observe(false) returns, no other thread is in one of
  // the functions below, and none will call them. For a thread that is in the arena already when
  // observing begins, on_scheduler_entry is called at once if it is the calling thread, else when
  // it next takes a task from another thread. Throws bad_alloc.
  CORBEL_EXPORT void observe(bool state = true);

  // Returns whether it observes.
  bool is_observing() const {
    // relaxed: only compared, the observation is not read
    return observation_.load(std::memory_order_relaxed) != nullptr;
  }

  // Called by a thread that has entered an observed arena; `is_worker` is true for the library's
  // threads. Must not throw: an exception ends the program.
  virtual void on_scheduler_entry(bool is_worker) { static_cast<void>(is_worker); }

  // Called by a thread that has entered and is about to leave. Must not throw: an exception ends
  // the program.
  virtual void on_scheduler_exit(bool is_worker) { static_cast<void>(is_worker); }

 private:
  task_arena* const arena_ = nullptr;
  const bool is_global_ = false;
  std::atomic<detail::observation*> observation_{nullptr};
};

}  // namespace corbel

#endif  // CORBEL_TASK_SCHEDULER_OBSERVER_HPP
