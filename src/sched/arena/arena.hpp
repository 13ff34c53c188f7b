// SPDX-License-Identifier: Apache-2.0
// An arena: the slots of the threads that work on the same tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sched/arena/arena_plan.hpp"
#include "sched/arena/binding.hpp"
#include "sched/arena/observers.hpp"
#include "sched/arena/slot.hpp"
#include "sched/arena/task_queue.hpp"
#include "sched/core/parked_threads.hpp"
#include "sched/core/thread.hpp"

namespace corbel::sched {

class Arena {
 public:
  explicit Arena(const ArenaPlan& plan);
  ~Arena();

  const ArenaPlan& plan() const { return plan_; }
  // The settings of the thread that made the arena, for the workers.
  std::uint32_t floating_point() const { return floating_point_; }
  unsigned width() const { return plan_.width; }
  // Whether the slot is that of the additional worker in an arena of one thread.
  bool is_additional(const Slot& s) const { return s.index >= plan_.width; }

  // ---- slots

  // Takes a free slot; returns false if there is none. Workers do not take the reserved ones,
  // unless all are reserved: then the one worker does that must come (must_have_worker).
  enum class As { kCaller, kWorker };
  bool enter(Thread& t, As as);
  // Makes the thread use a slot that it has taken before and not given back.
  void use_slot(Thread& t, Slot& s);
  // Gives the slot back. Other threads run the tasks that are left in its deque.
  void leave(Thread& t);
  // Call the arena's observers: the first after enter, the second before leave.
  void observe_entry(Thread& t);
  void observe_exit(Thread& t);
  // The processors that its threads are bound to; nullptr: they are not bound.
  const os::ProcessorSet* processors() const { return processors_.get(); }
  Observers& observers() { return observers_; }

  // Whether a caller could take a slot now. Exact only after a process barrier. A thread can wait
  // for this with the arena's address as the key, which `leave` notifies.
  bool has_free_slot() const;

  // Called by a worker that found no slot and is no longer counted in `workers`. Returns true if
  // the next thread that leaves will see that a worker could come, false if one has left meanwhile.
  bool is_still_full() {
    // (4) acq_rel: either this is before (3), which sees the flag, and the leaving thread sees that
    // one worker less is counted; or it is after (3), and reads that the flag was taken
    return worker_found_no_slot_.exchange(1, std::memory_order_acq_rel) != 0;
  }

  // ---- tasks

  // How far a search goes. All but the first leave tasks alone that were pushed a moment ago: their
  // owner may be about to pop them. Only the last one interrupts an owner: by the time, it may have
  // got to its deque by itself.
  enum class Search { kQuick, kCareful, kInterrupting };

  // Takes a task for `t` from anywhere but its own deque; returns none if there seems to be none
  // that this search takes.
  FoundTask find(Thread& t, Search search);

  // Takes a task from the isolation deques of the thread's own slot.
  static FoundTask find_in_own_isolation_deques(Thread& t) { return steal_isolated(*t.slot, t); }

  // Whether find() could have found something. Exact only after a process barrier.
  bool has_work_for(const Thread& t) const;
  bool has_work() const;
  bool has_queued() const { return !queue_.seems_empty(); }
  // Whether one worker must come even if the thread limit is one: no other thread may run what was
  // enqueued, or what the program has left in an arena that it has released.
  bool must_have_worker() const {
    // relaxed: a hint for callers that do not hold the thread pool's lock
    return has_queued() || references.load(std::memory_order_relaxed) == 0;
  }
  unsigned worker_count() const {
    // relaxed: a hint for callers that do not hold the thread pool's lock
    return workers.load(std::memory_order_relaxed);
  }

  // Puts the task into the queue: it runs even if no thread waits for it. `call`: it is a
  // delegated call. Throws bad_alloc.
  void enqueue(task_base& task, const CallLink* call = nullptr);
  // Takes an enqueued task back; returns false if a thread has taken it.
  bool withdraw(const task_base& task) { return queue_.remove(task); }
  // Puts the task into the mailbox of that slot. Throws bad_alloc.
  void mail(const FoundTask& task, unsigned slot);

  // ---- waking

  // Called by a thread that has pushed a task and has taken the wake flag: wakes a parked thread
  // that may run it, or else requests a worker.
  void signal_work();
  // Called by a thread that was woken, or was the last one searching, and now has something else to
  // do: if there is more work, wakes the next thread or requests a worker.
  void chain_wake_up();
  // Called by a worker that has come and found a task: its next push brings another thread, if any
  // can come, so that the threads that take part double with each step. Only its own push: the next
  // push of a thread whose tasks push nothing would bring one thread for each that came.
  void wake_on_next_push(Thread& t) const;
  // Called by a thread that pushed a task and was told to signal.
  void signal_push(Thread& t);
  // Set by a thread that parks or leaves.
  WakeFlag& wake_flag() { return wake_flag_; }

  // The maximum number of workers in the arena. At least 1 if a worker must run what no other
  // thread may (must_have_worker), even if all slots are reserved.
  unsigned max_workers() const;

  // ---- for the thread pool, under its lock
  std::atomic<std::uint32_t> workers{0};            // in the arena or on the way
  std::atomic<std::uint32_t> requested_workers{0};  // so many more should come
  std::atomic<std::uint32_t> references{1};         // owned by the program
  Arena* next = nullptr;                            // in the thread pool's list
  Arena* previous = nullptr;

  // Calls visit(lock) for each lock, for the fork handlers.
  template <typename Visit>
  void each_lock(Visit visit) {
    visit(observers_.lock());
    for (unsigned i = 0; i < slot_count_; ++i) visit(slots_[i].isolation_lock);
    for (unsigned i = 0; i < slot_count_; ++i) visit(slots_[i].mail.lock());
    visit(queue_.lock());
  }

  // In the child of a fork, where the only thread is `survivor`, an external one.
  void forget_threads(Thread* survivor);

  std::atomic<std::uint32_t> searching{0};  // workers that look for a task

  unsigned slot_count() const { return slot_count_; }
  Slot& slot(unsigned i) { return slots_[i]; }

 private:
  friend struct DebugAccess;

  bool take_slot(Thread& t, unsigned from, unsigned to);
  // What a thread of this arena looks at after a push: not 0 if it is to call signal_push.
  const std::atomic<std::uint32_t>& signalled_by_push() const;
  bool unpark_one();
  void chain_wake_up_to(bool parked_only);
  static FoundTask steal_from(Slot& victim, const Thread& t, Search search);
  static FoundTask steal_isolated(Slot& victim, const Thread& t);

  const ArenaPlan plan_;
  const std::uint32_t floating_point_;
  const unsigned slot_count_;
  std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<const os::ProcessorSet> processors_;
  TaskQueue queue_;
  Observers observers_;
  std::atomic<std::uint32_t> worker_found_no_slot_{0};
  alignas(detail::kCacheLine) WakeFlag wake_flag_;
};

// Requests one more worker for the arena. pool/thread_pool.cpp defines it.
void request_worker(Arena& arena);

}  // namespace corbel::sched
