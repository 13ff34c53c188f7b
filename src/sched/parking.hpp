// SPDX-License-Identifier: Apache-2.0
// How threads fall asleep and are woken, apart from what they sleep for. See README.md.
//
// Who goes to sleep announces it, passes a process barrier, looks once more for what it sleeps for,
// and only then sleeps. Who makes work, or ends what somebody waits for, does so with plain stores
// and then loads one word: the arena's bell, or the number of those who wait for something.
// Either that store lies before the sleeper's barrier in its thread, and the sleeper's look finds
// it; or it lies behind, then so does the load, which sees the announcement.
//
// The atomics and the system are parameters so that a model checker can run this very source
// (test/model/parking_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace corbel::sched {

// A place to sleep: the member `bed` of a Sleeper. All but the token is for its list alone.
template <typename Sleeper, template <typename> class Atomic>
struct BasicBed {
  Atomic<std::uint32_t> token{0};  // 1: woken
  Sleeper* next = nullptr;
  Sleeper* previous = nullptr;
  const void* key = nullptr;
  bool any_key = false;
  bool listed = false;
};

// All who sleep, each on a futex of its own. `System` has Lock; wait(word, expected) and
// wake_one(word) as in os.hpp.
template <typename Sleeper, template <typename> class Atomic, typename System>
class BasicBeds {
 public:
  using Lock = typename System::Lock;

  // The calling thread announces that it is about to sleep until what lies at `key` has ended, or
  // with `any_key` anything else that somebody may wait for, or until it is woken for another
  // reason, which is the only one if `key` is nullptr.
  void announce(Sleeper& self, const void* key, bool any_key = false) {
    auto& bed = self.bed;
    const Guard guard(lock_);
    bed.token.store(0, std::memory_order_relaxed);  // relaxed: under the lock, as who sets it
    bed.key = key;
    bed.any_key = any_key;
    bed.listed = true;
    bed.previous = nullptr;
    bed.next = first_;
    if (first_ != nullptr) first_->bed.previous = &self;
    first_ = &self;
    // relaxed: the process barrier that follows orders it
    if (key != nullptr) waiting_.fetch_add(1, std::memory_order_relaxed);
  }

  // It has found something after all. False if it was woken meanwhile.
  bool withdraw(Sleeper& self) {
    const Guard guard(lock_);
    const bool listed = self.bed.listed;
    if (listed) remove(self);
    return listed;
  }

  // Sleeps until somebody wakes it, or has woken it since.
  void sleep(Sleeper& self) {
    // (2) acquire: with (1). A wake of the word alone is one of an earlier sleep, come late.
    while (self.bed.token.load(std::memory_order_acquire) == 0) System::wait(self.bed.token, 0);
  }

  // Wakes the last one to announce itself that fits(sleeper). False if there is none.
  template <typename Fits>
  bool wake_first(const Fits& fits) {
    Sleeper* found = nullptr;
    {
      const Guard guard(lock_);
      found = first_;
      while (found != nullptr && !fits(*found)) found = found->bed.next;
      if (found == nullptr) return false;
      remove(*found);
      // (1) release: what the waker did, with (2). Under the lock, so that the token is up only
      // while the thread is out of the list: one that comes late would end a later sleep, and leave
      // a thread in the list that does not sleep.
      found->bed.token.store(1, std::memory_order_release);
    }
    System::wake_one(found->bed.token);  // outside of the lock, since the kernel takes a while
    return true;
  }

  // Wakes all that wait for what lies at `key`.
  void wake(const void* key) {
    while (wake_first([&](const Sleeper& s) { return s.bed.key == key || s.bed.any_key; })) {
    }
  }

  // How many wait for something to end.
  const Atomic<std::uint32_t>& waiting() const { return waiting_; }

  // Around a fork.
  Lock& lock() { return lock_; }

  // In the child of a fork: nobody sleeps.
  void forget_all() {
    first_ = nullptr;
    waiting_.store(0, std::memory_order_relaxed);  // relaxed: the only thread
  }

 private:
  using Guard = std::lock_guard<Lock>;

  void remove(Sleeper& s) {
    auto& bed = s.bed;
    (bed.previous != nullptr ? bed.previous->bed.next : first_) = bed.next;
    if (bed.next != nullptr) bed.next->bed.previous = bed.previous;
    bed.listed = false;
    if (bed.key != nullptr) waiting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
  }

  Lock lock_;
  Sleeper* first_ = nullptr;
  Atomic<std::uint32_t> waiting_{0};
};

// The word of an arena that says whether anybody wants to hear of new tasks. Who pushes one and
// finds it set takes it and rings: wakes one sleeper that may run the task, or else asks for one of
// the library's threads. So one thread comes for many tasks, and lets the next one come
// (pass_on). `System` has process_barrier().
template <template <typename> class Atomic, typename System>
class BasicBell {
 public:
  const Atomic<std::uint32_t>& word() const { return word_; }

  // By who goes to sleep or leaves, before its process barrier, which orders it with the pushes.
  // (3) release: that one more sleeps, with (4)
  void set() { word_.store(1, std::memory_order_release); }
  // (4) acquire: who takes the bell, and whom it wakes, knows of all who have set it, and passes on
  bool take() { return word_.exchange(0, std::memory_order_acquire) != 0; }
  bool is_set() const { return word_.load(std::memory_order_relaxed) != 0; }  // relaxed: a hint

  // The thread sleeps in one of the beds unless found(). True if it was woken: then it has to pass
  // on, as soon as it has something to do.
  template <typename Beds, typename Sleeper, typename Found>
  bool sleep(Beds& beds, Sleeper& self, const void* key, bool any_key, const Found& found) {
    bool woken = true;
    announce(beds, self, key, any_key);
    System::process_barrier();
    if (found()) {
      woken = !beds.withdraw(self);
    } else {
      beds.sleep(self);
    }
    wake_up();
    return woken;
  }

  // The first and the last part of it.
  template <typename Beds, typename Sleeper>
  void announce(Beds& beds, Sleeper& self, const void* key, bool any_key) {
    beds.announce(self, key, any_key);
    sleeping_.fetch_add(1, std::memory_order_relaxed);  // relaxed: published by (3)
    set();
  }
  void wake_up() { sleeping_.fetch_sub(1, std::memory_order_relaxed); }  // relaxed: a count

  // By a thread that came because of the bell, and now has something else to do than to search:
  // lets the next one come if there is work for more.
  template <typename HasWork, typename Ring>
  void pass_on(bool sleepers_only, const HasWork& has_work, const Ring& ring) {
    // relaxed: who fell asleep before the bell was taken is known by (4), and who does later sets
    // it again
    if (sleepers_only && sleeping_.load(std::memory_order_relaxed) == 0) return;
    set();
    System::process_barrier();
    if (has_work() && take()) ring();
  }

  // In the child of a fork: nobody sleeps.
  void forget_all() { sleeping_.store(0, std::memory_order_relaxed); }  // relaxed: the only thread

 private:
  Atomic<std::uint32_t> word_{0};
  Atomic<std::uint32_t> sleeping_{0};  // threads with a place that wait for something
};

}  // namespace corbel::sched
