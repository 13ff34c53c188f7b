// SPDX-License-Identifier: Apache-2.0
// The thread that holds a lock, for the locks of TBB 2020 that report an attempt to lock them
// twice. Not for programs to include.
#ifndef CORBEL_DETAIL_LOCK_OWNER_HPP
#define CORBEL_DETAIL_LOCK_OWNER_HPP

#include <atomic>
#include <thread>

namespace corbel {
namespace detail {

// All operations are relaxed. A thread compares the word only with its own id, which no other
// thread stores, and it sees its own stores in their order. The lock orders the stores of its
// holders.
class lock_owner {
 public:
  // Returns whether the calling thread holds the lock: it called set_this_thread(), and not clear()
  // since.
  bool is_this_thread() const noexcept {
    // relaxed: compared with the own id only
    return id_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // Called by the thread that has just acquired the lock.
  void set_this_thread() noexcept {
    // relaxed: only this thread compares with its id
    id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  // Called by the holder that is about to release the lock.
  void clear() noexcept {
    // relaxed: no thread has this id
    id_.store(std::thread::id(), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::thread::id> id_{std::thread::id()};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_LOCK_OWNER_HPP
