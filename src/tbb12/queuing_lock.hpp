// SPDX-License-Identifier: Apache-2.0
// A fair readers-writer lock of one word, whose waiters are in the program's scoped locks.
#pragma once

#include <corbel/detail/backoff.hpp>

#include <atomic>
#include <cstdint>

namespace corbel::tbb12 {

// All threads that have or want the lock are in one list, in the order in which they came. The word
// holds the last of them, a bit that guards the list for a few instructions, and a bit that a
// reader inside wants to become the writer. Between two steps these hold:
//   - those inside are the first of the list: one writer, or readers;
//   - if no reader upgrades, the first that waits cannot enter: it is a writer, or follows a
//   writer;
//   - if a reader upgrades, there are others inside, and no thread enters.
// Each step in which a thread leaves ends in let_in(), which restores the last two.
class QueuingLock {
 public:
  enum State : unsigned char {
    kNone,
    kWaitingReader,
    kWaitingWriter,
    kReader,
    kWriter,
    kUpgrading
  };

  // A thread that has or wants the lock.
  struct Holder {
    QueuingLock* lock;
    Holder* previous;
    Holder* next;
    std::atomic<unsigned char> state;
  };

  void enter(Holder& h, bool write) {
    {
      Step step(*this);
      append(h, step);
      if (may_enter(h, write, step)) {
        set(h, write ? kWriter : kReader);
        return;
      }
      set(h, write ? kWaitingWriter : kWaitingReader);
    }
    wait(h);
  }

  bool try_enter(Holder& h, bool write) {
    Step step(*this);
    const Holder* const last = step.last;
    if (last != nullptr && (write || step.upgrades || state(*last) != kReader)) return false;
    append(h, step);
    set(h, write ? kWriter : kReader);
    return true;
  }

  void leave(Holder& h) {
    Step step(*this);
    remove(h, step);
    let_in(step);
  }

  // Returns false if the lock was given up in between.
  bool upgrade(Holder& h) {
    bool stays = true;
    {
      Step step(*this);
      if (step.upgrades) {
        // Another reader upgrades already, and waits for this one to leave.
        stays = false;
        remove(h, step);
        append(h, step);
        set(h, kWaitingWriter);
      } else {
        step.upgrades = true;
        set(h, kUpgrading);
      }
      let_in(step);
    }
    wait(h);
    return stays;
  }

  void downgrade(Holder& h) {
    Step step(*this);
    set(h, kReader);
    let_in(step);
  }

 private:
  enum : std::uintptr_t { kGuarded = 1, kUpgrades = 2 };

  // One atomic step: takes the guard, and stores the list's end with it at the end.
  struct Step {
    explicit Step(QueuingLock& l) : lock(l) {
      std::uintptr_t word;
      detail::spin_until([&] {
        // relaxed: the exchange decides
        word = lock.word_.load(std::memory_order_relaxed);
        // (1) acquire: sees the steps before, published by (2)
        return (word & kGuarded) == 0 &&
               lock.word_.compare_exchange_weak(word, word | kGuarded, std::memory_order_acquire,
                                                std::memory_order_relaxed);
      });
      last = reinterpret_cast<Holder*>(word & ~std::uintptr_t{kGuarded | kUpgrades});
      upgrades = (word & kUpgrades) != 0;
    }
    ~Step() {
      // (2) release: publishes the step to (1)
      lock.word_.store(
          reinterpret_cast<std::uintptr_t>(last) | (upgrades ? std::uintptr_t{kUpgrades} : 0),
          std::memory_order_release);
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    QueuingLock& lock;
    Holder* last;
    bool upgrades;
  };

  // relaxed: written in steps, except that a waiting thread reads its own, see wait()
  static unsigned char state(const Holder& h) { return h.state.load(std::memory_order_relaxed); }
  static void set(Holder& h, State s) {
    // (3) release: publishes to (4) what the threads before did
    h.state.store(s, std::memory_order_release);
  }
  static bool is_waiting(unsigned char s) {
    return s == kWaitingReader || s == kWaitingWriter || s == kUpgrading;
  }

  static void wait(Holder& h) {
    // (4) acquire: sees what the threads that left before did, published by (3)
    detail::spin_until([&] { return !is_waiting(h.state.load(std::memory_order_acquire)); });
  }

  static void append(Holder& h, Step& step) {
    h.previous = step.last;
    h.next = nullptr;
    if (step.last != nullptr) step.last->next = &h;
    step.last = &h;
  }
  static void remove(Holder& h, Step& step) {
    if (h.previous != nullptr) h.previous->next = h.next;
    (h.next != nullptr ? h.next->previous : step.last) = h.previous;
  }

  static bool may_enter(const Holder& h, bool write, const Step& step) {
    if (h.previous == nullptr) return true;
    return !write && !step.upgrades && state(*h.previous) == kReader;
  }

  // Lets those in that may enter now.
  static void let_in(Step& step) {
    Holder* first = step.last;
    if (first == nullptr) return;
    while (first->previous != nullptr) first = first->previous;
    if (step.upgrades) {
      // Alone inside: the next one, if any, waits.
      const Holder* const second = first->next;
      const bool is_alone =
          second == nullptr || state(*second) == kWaitingReader || state(*second) == kWaitingWriter;
      if (!is_alone || state(*first) != kUpgrading) return;
      step.upgrades = false;
      set(*first, kWriter);
      return;
    }
    if (state(*first) == kWaitingWriter) {
      set(*first, kWriter);
      return;
    }
    for (Holder* h = first; h != nullptr; h = h->next) {
      if (state(*h) == kReader) continue;
      if (state(*h) != kWaitingReader) return;
      set(*h, kReader);
    }
  }

  std::atomic<std::uintptr_t> word_{0};
};

}  // namespace corbel::tbb12
