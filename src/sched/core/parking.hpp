// SPDX-License-Identifier: Apache-2.0
// How threads park and are woken, independent of what they wait for. README.md has the whole
// argument.
//
// A thread that parks announces itself, passes a process barrier, looks once more for what it waits
// for, and only then sleeps. A thread that pushes a task, or ends something that others wait for,
// does so with plain stores and then loads one word: the arena's wake flag, or the number of
// waiters. Either that store is before the barrier in the pushing thread, and the parking thread's
// look finds it; or it is after the barrier, then so is the load, which sees the announcement.
//
// The atomics and the system are parameters, so that a model checker can run this very source
// (test/model/parking_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace corbel::sched {

struct DebugAccess;  // pool/debug_layout.cpp

// The member `wait_node` of a thread type. Only the list reads and writes it; a thread may sleep on
// `woken`.
template <typename Parked, template <typename> class Atomic>
struct BasicWaitNode {
  Atomic<std::uint32_t> woken{0};  // a futex; 1: woken
  Parked* next = nullptr;
  Parked* previous = nullptr;
  const void* key = nullptr;
  bool any_key = false;
  bool listed = false;
};

// The list of parked threads, each on a futex of its own. `System` has Lock; wait(word, expected)
// and wake_one(word) as in os.hpp.
template <typename Parked, template <typename> class Atomic, typename System>
class BasicParkedThreads {
 public:
  using Lock = typename System::Lock;

  // The calling thread announces that it is about to park. It waits for the end of what is at
  // `key`, or with `any_key` for the end of anything. unpark_first can also wake it for another
  // reason, and is the only wake-up if `key` is nullptr.
  void announce(Parked& self, const void* key, bool any_key = false) {
    auto& node = self.wait_node;
    const Guard guard(lock_);
    node.woken.store(0, std::memory_order_relaxed);  // relaxed: written under the lock only
    node.key = key;
    node.any_key = any_key;
    node.listed = true;
    node.previous = nullptr;
    node.next = first_;
    if (first_ != nullptr) first_->wait_node.previous = &self;
    first_ = &self;
    // relaxed: the process barrier that follows orders it
    if (key != nullptr) waiting_.fetch_add(1, std::memory_order_relaxed);
  }

  // Called instead of park() by a thread that has found something after all. Returns false if
  // another thread has woken it meanwhile.
  bool withdraw(Parked& self) {
    const Guard guard(lock_);
    const bool listed = self.wait_node.listed;
    if (listed) remove(self);
    return listed;
  }

  // Sleeps until another thread wakes this one; returns at once if that has happened since
  // announce().
  void park(Parked& self) {
    // (2) acquire: sees what the waker did before (1). A futex wake without `woken` is a late one
    // that was meant for an earlier sleep.
    while (self.wait_node.woken.load(std::memory_order_acquire) == 0) {
      System::wait(self.wait_node.woken, 0);
    }
  }

  // Wakes the thread that announced itself last among those for which fits(thread) holds. False if
  // there is none.
  template <typename Fits>
  bool unpark_first(const Fits& fits) {
    Parked* found = nullptr;
    {
      const Guard guard(lock_);
      found = first_;
      while (found != nullptr && !fits(*found)) found = found->wait_node.next;
      if (found == nullptr) return false;
      remove(*found);
      // (1) release: publishes what the waker did to (2). Under the lock, so that `woken` is set
      // only while the thread is not in the list: a late store would end the thread's next sleep
      // and leave it in the list though it is awake.
      found->wait_node.woken.store(1, std::memory_order_release);
    }
    System::wake_one(found->wait_node.woken);  // not under the lock: a system call
    return true;
  }

  // Wakes all threads that wait for the end of what is at `key`.
  void unpark_waiters(const void* key) {
    while (unpark_first(
        [&](const Parked& p) { return p.wait_node.key == key || p.wait_node.any_key; })) {
    }
  }

  // The number of threads that wait for the end of something.
  const Atomic<std::uint32_t>& waiting() const { return waiting_; }

  // For the fork handlers.
  Lock& lock() { return lock_; }

  // In the child of a fork, where no thread is parked.
  void forget_all() {
    first_ = nullptr;
    waiting_.store(0, std::memory_order_relaxed);  // relaxed: the only thread
  }

 private:
  friend struct DebugAccess;

  using Guard = std::lock_guard<Lock>;

  void remove(Parked& p) {
    auto& node = p.wait_node;
    (node.previous != nullptr ? node.previous->wait_node.next : first_) = node.next;
    if (node.next != nullptr) node.next->wait_node.previous = node.previous;
    node.listed = false;
    // relaxed: a count that is too high only costs a call of notify()
    if (node.key != nullptr) waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  Lock lock_;
  Parked* first_ = nullptr;
  Atomic<std::uint32_t> waiting_{0};
};

// An arena's wake flag: set while a parked thread wants to be told of new tasks. A thread that
// pushes a task and finds the flag set clears it and wakes one parked thread that may run the task,
// or else requests a worker. So one wake-up serves many pushes; the woken thread wakes the next one
// (chain_wake_up). `System` has process_barrier().
template <template <typename> class Atomic, typename System>
class BasicWakeFlag {
 public:
  const Atomic<std::uint32_t>& word() const { return word_; }

  // Called by a thread that parks or leaves the arena, before the process barrier that orders this
  // store with the pushes. (3) release: publishes the count of parked threads to (4).
  void set() { word_.store(1, std::memory_order_release); }
  // (4) acquire: the thread that clears the flag, and the one that it wakes, know of all threads
  // that have set it with (3), and continue the chain.
  bool take() { return word_.exchange(0, std::memory_order_acquire) != 0; }
  bool is_set() const { return word_.load(std::memory_order_relaxed) != 0; }  // relaxed: a hint

  // Parks the thread in `list` unless found(). Returns whether it was woken: then it must continue
  // the chain as soon as it has something to do.
  template <typename List, typename Parked, typename Found>
  bool park(List& list, Parked& self, const void* key, bool any_key, const Found& found) {
    bool woken = true;
    announce(list, self, key, any_key);
    System::process_barrier();
    if (found()) {
      woken = !list.withdraw(self);
    } else {
      list.park(self);
    }
    end_park();
    return woken;
  }

  // The first and the last step of park().
  template <typename List, typename Parked>
  void announce(List& list, Parked& self, const void* key, bool any_key) {
    list.announce(self, key, any_key);
    parked_.fetch_add(1, std::memory_order_relaxed);  // relaxed: published by (3)
    set();
  }
  void end_park() { parked_.fetch_sub(1, std::memory_order_relaxed); }  // relaxed: a count

  // Wake chaining: called by a thread that came because of the flag and has stopped searching.
  // Makes signal() bring the next thread if there is work for it; with `parked_only`, only if the
  // arena has parked threads.
  template <typename HasWork, typename Signal>
  void chain_wake_up(bool parked_only, const HasWork& has_work, const Signal& signal) {
    // relaxed: (4) has told of each thread that parked before the flag was taken; a thread that
    // parks later sets the flag itself
    if (parked_only && parked_.load(std::memory_order_relaxed) == 0) return;
    set();
    // With work in sight, the next thread is brought, whatever becomes of that work: a push may
    // have missed the flag, and no other thread would hear of it. The next one looks after a
    // barrier.
    bool found = has_work();
    if (!found) {
      System::process_barrier();
      found = has_work();
    }
    if (found && take()) signal();
  }

  // In the child of a fork, where no thread is parked.
  void forget_all() { parked_.store(0, std::memory_order_relaxed); }  // relaxed: the only thread

 private:
  friend struct DebugAccess;

  Atomic<std::uint32_t> word_{0};
  Atomic<std::uint32_t> parked_{0};  // threads with a slot in the arena that wait for something
};

}  // namespace corbel::sched
