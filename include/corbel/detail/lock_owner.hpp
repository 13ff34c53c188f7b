// SPDX-License-Identifier: Apache-2.0
// Which thread holds a lock, for the locks of classic TBB that notice when their holder wants them
// again. Not for programs to include.
#ifndef CORBEL_DETAIL_LOCK_OWNER_HPP
#define CORBEL_DETAIL_LOCK_OWNER_HPP

#include <atomic>
#include <thread>

namespace corbel {
namespace detail {

// Relaxed, all of it: a thread compares with its own id alone, which nobody else stores, and its
// own stores it sees in their order. The lock orders the stores of its holders.
class lock_owner {
 public:
  // Whether set_this_thread() was the last thing this thread has done here.
  bool is_this_thread() const noexcept {
    return id_.load(std::memory_order_relaxed) == std::this_thread::get_id();  // see above
  }
  // By the holder, which has just taken the lock, and by the one that is about to give it back.
  void set_this_thread() noexcept {
    id_.store(std::this_thread::get_id(), std::memory_order_relaxed);  // see above
  }
  void clear() noexcept { id_.store(std::thread::id(), std::memory_order_relaxed); }  // see above

 private:
  std::atomic<std::thread::id> id_{std::thread::id()};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_LOCK_OWNER_HPP
