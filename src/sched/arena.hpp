// SPDX-License-Identifier: Apache-2.0
// An arena: the places of the threads that work on the same tasks, each with a deque.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sched/binding.hpp"
#include "sched/lock_ranks.hpp"
#include "sched/observers.hpp"
#include "sched/sleepers.hpp"
#include "sched/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

// A task and the region to which it belongs.
struct Found {
  task_base* task = nullptr;
  Region region = kNoRegion;
  bool is_call = false;  // that somebody outside waits for; see Arena::enqueue
  explicit operator bool() const { return task != nullptr; }
};

// Whether a thread that waits in region `mine` may run tasks of `other`.
inline bool may_run(Region mine, Region other) { return mine == kNoRegion || mine == other; }

// Tasks that wait in order for whoever comes. Few, or on their way to a certain thread: a lock will
// do.
class TaskQueue {
 public:
  void push(const Found& task);
  // The oldest one that the thread may run; without `enters_regions`, in the region that it is in.
  Found pop(const Thread& t, bool enters_regions = true);
  bool has_some_for(const Thread& t) const;
  bool has_some_in(Region region) const;
  // Takes that one out; false if it is not there.
  bool remove(const task_base& task);
  // relaxed: a guess; sure behind a process barrier
  bool seems_empty() const { return length_.load(std::memory_order_relaxed) == 0; }

  // Around a fork; and in its child.
  sync::Lock& lock() { return lock_; }
  void clear();

 private:
  mutable sync::Lock lock_{kQueue};
  std::deque<Found> tasks_;
  std::atomic<std::uint32_t> length_{0};
};

// A deque for the tasks of a region, besides the one of the slot.
struct RegionDeque {
  RegionDeque();
  task_deque tasks;
  Region region = kNoRegion;
  bool in_use = false;  // its thread is in the region
  RegionDeque* next = nullptr;
};

// One place in an arena.
struct alignas(detail::kCacheLine) Slot {
  Slot();
  ~Slot();

  // ---- read by thieves
  std::atomic<Thread*> occupant{nullptr};  // who owns `tasks` and takes from `mail`
  task_deque tasks;
  TaskQueue mail;  // tasks that this slot should run if it can (affinity)

  // The deques of the regions in which threads were here or are; all may steal from them. One whose
  // thread has left the region is used again when it is empty.
  mutable sync::Lock regions_lock{kRegions};
  RegionDeque* regions = nullptr;
  std::atomic<std::uint32_t> region_count{0};
  // One of them for another region, under the lock; nullptr if there is none and no memory.
  RegionDeque* free_region_deque();

  std::uint32_t index = 0;
  std::uint64_t seen = 0;  // the last of the arena's observers that its thread has looked at
};

// What the program asks of an arena.
struct ArenaPlan {
  unsigned width = 1;     // threads at most
  unsigned reserved = 1;  // places that only threads of the program may take
  int priority = 0;       // the higher, the earlier it is helped
  int numa_node = -1;     // -1: any
  int core_type = -1;
  int threads_per_core = -1;
};

class Arena {
 public:
  explicit Arena(const ArenaPlan& plan);
  ~Arena();

  const ArenaPlan& plan() const { return plan_; }
  // Of the thread that made the arena, for those that come to help.
  std::uint32_t floating_point() const { return floating_point_; }
  unsigned width() const { return plan_.width; }

  // ---- places

  // Takes a free place; false if there is none. Who comes to help leaves the reserved ones alone.
  enum class As { kCaller, kHelper };
  bool enter(Thread& t, As as);
  // Gives it back. What lies in its deque is for the others.
  void leave(Thread& t);
  // Behind enter and before leave: what the program wants to be done then.
  void arrive(Thread& t);
  void depart(Thread& t);
  // Where its threads are bound to; nullptr: nowhere.
  const os::ProcessorSet* processors() const { return processors_.get(); }
  // Who observes it.
  Observers& observers() { return observers_; }

  // Whether there is a free one for a caller, now. Sure behind a process barrier: `leave` tells who
  // sleeps until something ends at the arena's address.
  bool has_place() const;

  // By one of the library's threads that did not find a place, and is not counted as a worker any
  // more: true if the next one to leave will see that there is one; false if somebody has left.
  bool stays_full() {
    // (4) acq_rel: whether (3) came before, who then did not see that a worker less is counted
    return turned_away_.exchange(1, std::memory_order_acq_rel) != 0;
  }

  // ---- tasks

  // A task for `t`, from anywhere but its own deque; nullptr if there seems to be none. A careful
  // look leaves alone what has only just been pushed: its owner may be about to take it back.
  Found find(Thread& t, bool careful);

  // The same, of the regions' tasks in the thread's own place.
  static Found find_in_own_regions(Thread& t) { return steal_region(*t.slot, t); }

  // Whether find() could have found something. Sure behind a process barrier.
  bool has_work_for(const Thread& t) const;
  bool has_work() const;
  bool has_queued() const { return !queue_.seems_empty(); }
  // Whether one thread is to come even where the thread limit is one: nobody else may run what was
  // enqueued, or what the program has left behind.
  bool needs_one() const {
    // relaxed: a guess to who does not hold the pool's lock
    return has_queued() || references.load(std::memory_order_relaxed) == 0;
  }
  // relaxed: as above
  unsigned workers_here() const { return workers.load(std::memory_order_relaxed); }

  // The task runs some time, whoever waits or does not.
  void enqueue(task_base& task, bool is_call = false);
  // Takes an enqueued task back; false if a thread has it.
  bool withdraw(const task_base& task) { return queue_.remove(task); }
  // Prefers the thread in that place.
  void mail(const Found& task, unsigned slot);

  // ---- bell

  // Called by who has pushed a task and saw the bell.
  void ring();
  // Called by a thread that was woken, or was the last to search, and now has something else to do:
  // lets the next one come if there is work for more.
  void pass_on();
  // Called by who goes to sleep or leaves.
  Bell& bell() { return bell_; }

  // How many of the library's threads may be here; the last one for what nobody else may run, where
  // the program's threads alone fill the arena.
  unsigned most_workers() const;

  // ---- for Pool, under its lock
  std::atomic<std::uint32_t> workers{0};     // of the library's threads, here or on the way
  bool wanting = false;                      // one more should come
  std::atomic<std::uint32_t> references{1};  // of the program
  Arena* next = nullptr;                     // in the pool's list
  Arena* previous = nullptr;

  // Calls visit(lock) for each: around a fork.
  template <typename Visit>
  void each_lock(Visit visit) {
    visit(observers_.lock());
    for (unsigned i = 0; i < slot_count_; ++i) visit(slots_[i].regions_lock);
    for (unsigned i = 0; i < slot_count_; ++i) visit(slots_[i].mail.lock());
    visit(queue_.lock());
  }

  // In the child of a fork, where the library's threads do not exist and one of the program's does.
  void forget_threads(Thread* survivor);

  std::atomic<std::uint32_t> searching{0};  // of the library's threads

  unsigned slot_count() const { return slot_count_; }
  Slot& slot(unsigned i) { return slots_[i]; }

 private:
  bool take_slot(Thread& t, unsigned from, unsigned to);
  void pass_on_to(bool sleepers_only);
  static Found steal_from(Slot& victim, const Thread& t, bool careful);
  static Found steal_region(Slot& victim, const Thread& t);

  const ArenaPlan plan_;
  const std::uint32_t floating_point_;
  const unsigned slot_count_;
  std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<const os::ProcessorSet> processors_;
  TaskQueue queue_;
  Observers observers_;
  std::atomic<std::uint32_t> turned_away_{0};  // 1: one that wanted to come found no place
  alignas(detail::kCacheLine) Bell bell_;
};

}  // namespace corbel::sched
