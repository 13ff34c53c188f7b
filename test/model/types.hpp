// SPDX-License-Identifier: Apache-2.0
// What the threads of a model share: atomics for the sources under test, plain variables that
// report data races, a mutex for code that is not under test, and a kernel to sleep in.
#pragma once

#include <vector>

#include "explorer.hpp"

namespace corbel::model {

// Replaces std::atomic for integers and pointers. As in Corbel's sources, callers name every memory
// order.
template <typename T>
class Atomic {
 public:
  Atomic(T value = {}) : location_(Explorer::get().add_location(std::uint64_t(value))) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order) const {
    return T(perform({.location = location_, .op = Op::kLoad, .order = order}).value);
  }

  void store(T value, std::memory_order order) {
    perform(
        {.location = location_, .op = Op::kStore, .order = order, .operand = std::uint64_t(value)});
  }

  T exchange(T value, std::memory_order order) {
    return update(Op::kExchange, value, order, [](std::uint64_t, std::uint64_t n) { return n; });
  }

  T fetch_add(T n, std::memory_order order) {
    return update(Op::kFetch, n, order,
                  [](std::uint64_t v, std::uint64_t n) { return std::uint64_t(T(T(v) + T(n))); });
  }

  T fetch_sub(T n, std::memory_order order) {
    return update(Op::kFetch, n, order,
                  [](std::uint64_t v, std::uint64_t n) { return std::uint64_t(T(T(v) - T(n))); });
  }

  T fetch_or(T n, std::memory_order order) {
    return update(Op::kFetch, n, order, [](std::uint64_t v, std::uint64_t n) { return v | n; });
  }

  T fetch_and(T n, std::memory_order order) {
    return update(Op::kFetch, n, order, [](std::uint64_t v, std::uint64_t n) { return v & n; });
  }

  bool compare_exchange_strong(T& expected, T value, std::memory_order success,
                               std::memory_order failure) {
    return compare_exchange(expected, value, success, failure, false);
  }

  bool compare_exchange_weak(T& expected, T value, std::memory_order success,
                             std::memory_order failure) {
    return compare_exchange(expected, value, success, failure, true);
  }

 private:
  template <int>
  friend struct Kernel;

  static Explorer::Done perform(const Step& step) { return Explorer::get().perform(step); }

  T update(Op op, T operand, std::memory_order order,
           std::uint64_t (*how)(std::uint64_t, std::uint64_t)) {
    return T(perform({.location = location_,
                      .op = op,
                      .order = order,
                      .operand = std::uint64_t(operand),
                      .update = how})
                 .value);
  }

  bool compare_exchange(T& expected, T value, std::memory_order success, std::memory_order failure,
                        bool weak) {
    const Explorer::Done done =
        perform({.location = location_,
                 .op = Op::kCompareExchange,
                 .order = success,
                 .failure_order = failure,
                 .operand = std::uint64_t(value),
                 .expected = std::uint64_t(expected),
                 .weak = weak,
                 .update = [](std::uint64_t, std::uint64_t n) { return n; }});
    if (!done.wrote) expected = T(done.value);
    return done.wrote;
  }

  const int location_;
};

// A plain variable. Two accesses race if at least one of them writes and neither happens before the
// other, whatever their order in this run.
template <typename T>
class Var {
 public:
  explicit Var(T value = {}) : value_(value), write_(Explorer::get().now()) {}
  Var(const Var&) = delete;
  Var& operator=(const Var&) = delete;

  T get() const {
    Explorer& explorer = Explorer::get();
    if (!explorer.knows(write_)) explorer.fail("data race: read concurrent with a write");
    reads_.push_back(explorer.now());
    return value_;
  }

  void set(T value) {
    Explorer& explorer = Explorer::get();
    if (!explorer.knows(write_)) explorer.fail("data race: write concurrent with a write");
    for (const Explorer::Stamp& read : reads_) {
      if (!explorer.knows(read)) explorer.fail("data race: write concurrent with a read");
    }
    reads_.clear();
    write_ = explorer.now();
    value_ = value;
  }

 private:
  T value_;
  Explorer::Stamp write_;
  mutable std::vector<Explorer::Stamp> reads_;  // since the last write
};

// A mutex that is assumed correct: one step locks it, one unlocks it, and no execution has a thread
// that waits in vain.
class Mutex {
 public:
  Mutex() : location_(Explorer::get().add_location(0)) {}

  void lock() { step(Op::kLock, std::memory_order_acquire, 1); }
  void unlock() { step(Op::kUnlock, std::memory_order_release, 0); }

 private:
  void step(Op op, std::memory_order order, std::uint64_t value) {
    Explorer::get().perform({.location = location_,
                             .op = op,
                             .order = order,
                             .operand = value,
                             .update = [](std::uint64_t, std::uint64_t n) { return n; }});
  }

  const int location_;
};

class MutexGuard {
 public:
  explicit MutexGuard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexGuard() { mutex_.unlock(); }
  MutexGuard(const MutexGuard&) = delete;
  MutexGuard& operator=(const MutexGuard&) = delete;

 private:
  Mutex& mutex_;
};

// The system interface of sync::BasicMutex and of the locks of the headers. The kernel promises
// only that a sleep and a wake on the same word have an order. It orders nothing else, so it cannot
// hide a data race.
template <int kSpinsBeforeSleep>
struct Kernel {
  static constexpr int kSpins = kSpinsBeforeSleep;
  static constexpr bool kSleeps = true;
  static void pause(int = 0) {}
  static std::uint32_t self() { return std::uint32_t(Explorer::get().now().thread + 1); }

  static void wait(Atomic<std::uint32_t>& word, std::uint32_t expected) {
    Explorer::get().perform({.location = word.location_, .op = Op::kWait, .expected = expected});
  }

  static void wake_one(Atomic<std::uint32_t>& word) {
    Explorer::get().perform({.location = word.location_, .op = Op::kWake});
  }

  static void wake_all(Atomic<std::uint32_t>& word) {
    Explorer::get().perform({.location = word.location_, .op = Op::kWake, .operand = kAll});
  }
};

// ---- fences: see memory.hpp
inline void compiler_barrier() {
  Explorer::get().perform({.location = -1, .op = Op::kCompilerBarrier});
}
inline void fence() { Explorer::get().perform({.location = -1, .op = Op::kFence}); }
inline void process_barrier() {
  Explorer::get().perform({.location = -1, .op = Op::kProcessBarrier});
}

// For the assertions of a test.
inline void check(bool good, const char* what) {
  if (!good) Explorer::get().fail(what);
}

}  // namespace corbel::model
