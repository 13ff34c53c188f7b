// SPDX-License-Identifier: Apache-2.0
// The number of outstanding tasks of a group. One thread, the owner, makes and ends most of them:
// it counts with plain stores, the other threads count with read-modify-writes of a second word.
// Not for programs to include.
//
// The number is own_ + foreign_. Either may be negative; the sum never is.
//
// Detecting zero. Only the owner changes own_. Every change of foreign_ gives it a value that it
// never had before. So if foreign_ is the same before and after a load of own_, the sum is the
// number at the moment of that load. Zero is final: no task is left that could make new ones.
//
// Waking waiting threads. A thread that sleeps until zero has announced itself in
// thread_data::waiting, passed a process barrier and then looked at the sum (wait_until). A release
// that this look did not see comes after the barrier, and so does the release's later load of
// thread_data::waiting, which therefore finds the announcement. There are two kinds of releases:
//   Unwatched: it saw no announcement before it changed the sum, and one afterwards. It wakes the
// sleeping thread without knowing whether the sum is zero: it must not look, since the group may
// have been destroyed.
//   Watched: it saw an announcement before it changed the sum. It counts itself in inside_ while it
// looks whether the sum is zero, and no wait ends meanwhile. Of all releases that the sleeping
// thread's look did not see, take the last one in the order in which they reach memory. If it is
// watched, it finds zero: of two watched releases the later one sees the earlier one, because
// change and look are sequentially consistent; unwatched releases that the look did not see have
// woken the thread, whose next look begins this argument again with fewer releases; and releases
// that the look did see come before the barrier.
#ifndef CORBEL_DETAIL_GROUP_COUNT_HPP
#define CORBEL_DETAIL_GROUP_COUNT_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

class group_count {
 public:
  // The owner is the thread that makes the object; if that has not used the library yet, the first
  // thread that reserves.
  group_count() : owner_(own_thread_data()) {}
  group_count(const group_count&) = delete;
  group_count& operator=(const group_count&) = delete;

  // Adds a task. The caller makes sure that the count cannot reach zero meanwhile: it holds a
  // reservation itself, or no thread waits yet.
  void reserve(thread_data& thread) {
    if (CORBEL_LIKELY(is_own(thread))) {
      // relaxed: only this thread writes own_. (5) release: replaces the value of (1), so it
      // publishes to (3) what the earlier (1) did
      own_.store(own_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else {
      // relaxed: publishes nothing, and keeps the release sequence of (2)
      foreign_.fetch_add(kReserved, std::memory_order_relaxed);
    }
  }

  // Removes a task. After the last release the waits end, and the object may be destroyed.
  void release(thread_data& thread) {
    // relaxed: see "Waking waiting threads"; notify_waiters finds an announcement missed here
    if (CORBEL_UNLIKELY(thread.waiting->load(std::memory_order_relaxed) != 0)) {
      release_watched(thread);
      return;
    }
    const void* const key = this;
    if (CORBEL_LIKELY(is_own(thread))) {
      // (1) release: publishes what the tasks did to (3). relaxed: only this thread writes own_.
      own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      foreign_.fetch_add(kReleased, std::memory_order_release);  // (2) release: publishes to (3)
    }
    notify_waiters(thread, key);
  }

  // Returns whether the number is zero.
  bool is_done() const {
    // (3) acquire, all three: sees what the tasks did before (1) and (2)
    std::uint64_t before = foreign_.load(std::memory_order_acquire);
    for (;;) {
      // (3) acquire: also keeps the next load after this one
      const std::uint32_t own = own_.load(std::memory_order_acquire);
      if (own + std::uint32_t(before) != 0) return false;
      const std::uint64_t after = foreign_.load(std::memory_order_acquire);  // (3) acquire
      if (after == before) break;
      before = after;
    }
    // (6) acquire: orders the looks of watched releases, which end by (4) in release_watched,
    // before the end of the wait. They do not last long.
    if (CORBEL_UNLIKELY(inside_.load(std::memory_order_acquire) != 0)) {
      spin_until([this] {
        return inside_.load(std::memory_order_acquire) == 0;  // (6) acquire
      });
    }
    return true;
  }

  // Runs tasks until the number is zero. Most of the tasks belong to `group`.
  void wait(thread_data& thread, context_node& group) const {
    if (is_done() ? !thread.has_suspended_stacks
                  : run_own(thread, group, [this] { return is_done(); }))
      return;
    wait_until(thread, this, &is_done_at);
  }

 private:
  // The lower half is the number; the upper half counts the changes, so that no value repeats.
  enum : std::uint64_t {
    kReserved = (std::uint64_t{1} << 32) + 1,
    kReleased = (std::uint64_t{1} << 32) + 0xffffffff
  };

  bool is_own(thread_data& thread) {
    // relaxed, all: a thread finds its own address only if it stored it itself. If a thread has
    // ended and a new one got its address, all that the old one did happened before.
    thread_data* owner = owner_.load(std::memory_order_relaxed);
    if (CORBEL_LIKELY(owner == &thread)) return true;
    return owner == nullptr &&
           owner_.compare_exchange_strong(owner, &thread, std::memory_order_relaxed,
                                          std::memory_order_relaxed);
  }

  CORBEL_EXPORT void release_watched(thread_data& thread) noexcept;
  static bool is_done_at(const void* key) {
    return static_cast<const group_count*>(key)->is_done();
  }

  std::atomic<thread_data*> owner_;
  std::atomic<std::uint32_t> own_{0};
  std::atomic<std::uint32_t> inside_{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> foreign_{0};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_GROUP_COUNT_HPP
