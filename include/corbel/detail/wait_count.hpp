// SPDX-License-Identifier: Apache-2.0
// The number of outstanding tasks; a thread can wait until there are none. Not for programs to
// include.
#ifndef CORBEL_DETAIL_WAIT_COUNT_HPP
#define CORBEL_DETAIL_WAIT_COUNT_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>

namespace corbel {
namespace detail {

// Thread-safe. group_count is cheaper where one thread makes and ends most of the tasks.
class wait_count {
 public:
  explicit wait_count(std::uint32_t outstanding = 0) : outstanding_(outstanding) {}
  wait_count(const wait_count&) = delete;
  wait_count& operator=(const wait_count&) = delete;

  // Makes `n` reservations. The caller must keep the count from reaching zero meanwhile: it holds a
  // reservation itself, or no thread waits yet.
  void reserve(std::uint32_t n = 1) {
    outstanding_.fetch_add(n, std::memory_order_relaxed);  // relaxed: the spawn publishes it
  }

  // Ends `n` reservations. After the last release the waiting thread continues and may destroy the
  // object.
  void release(thread_data& thread, std::uint32_t n = 1) {
    const void* const key = this;
    trace_end(thread, key);
    // (1) release: publishes what the tasks did to (2), which reads this value or a later one of
    // the same release sequence
    if (outstanding_.fetch_sub(n, std::memory_order_release) == n) notify_waiters(thread, key);
  }

  // Ends one reservation of a count that no thread waits for; returns whether it was the last.
  bool release_unwaited() {
    // (3) acq_rel: the last release sees what came before the others
    return outstanding_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  bool is_done() const {
    return outstanding_.load(std::memory_order_acquire) ==
           0;  // (2) acquire: sees what came before (1)
  }

  // Runs tasks until all reservations are released.
  void wait(thread_data& thread) const { wait_until(thread, this, &is_done_at); }

 private:
  static bool is_done_at(const void* key) { return static_cast<const wait_count*>(key)->is_done(); }

  std::atomic<std::uint32_t> outstanding_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_WAIT_COUNT_HPP
