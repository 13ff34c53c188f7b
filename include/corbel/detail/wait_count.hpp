// SPDX-License-Identifier: Apache-2.0
// How many tasks are outstanding, for somebody to wait until there are none. Not for programs to
// include.
#ifndef CORBEL_DETAIL_WAIT_COUNT_HPP
#define CORBEL_DETAIL_WAIT_COUNT_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// Any thread may do anything to it. Where one thread makes and ends most of the tasks, group_count
// is cheaper.
class wait_count {
 public:
  explicit wait_count(std::uint32_t outstanding = 0) : outstanding_(outstanding) {}
  wait_count(const wait_count&) = delete;
  wait_count& operator=(const wait_count&) = delete;

  // Who reserves makes sure that the count does not come to its end before: it holds a reservation
  // itself, or nobody waits yet.
  void reserve(std::uint32_t n = 1) {
    outstanding_.fetch_add(n, std::memory_order_relaxed);  // relaxed: orders nothing, see above
  }

  // With the last release whoever waits goes on, and the object may be gone.
  void release(worker& w, std::uint32_t n = 1) {
    const void* const key = this;
    // (1) release: what the tasks did, with (2), which reads this or a later one of a row of
    // read-modify-writes
    if (outstanding_.fetch_sub(n, std::memory_order_release) == n) notify_waiters(w, key);
  }

  bool is_done() const {
    return outstanding_.load(std::memory_order_acquire) == 0;  // (2) acquire: with (1)
  }

  // Runs tasks until all are released.
  void wait(worker& w) const { wait_until(w, this, &is_done_at); }

 private:
  static bool is_done_at(const void* key) { return static_cast<const wait_count*>(key)->is_done(); }

  std::atomic<std::uint32_t> outstanding_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_WAIT_COUNT_HPP
