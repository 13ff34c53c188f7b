// SPDX-License-Identifier: Apache-2.0
// The lock that its holder may take again; a class of classic TBB, over the one of the standard.
// C++11 upwards.
#ifndef CORBEL_RECURSIVE_MUTEX_HPP
#define CORBEL_RECURSIVE_MUTEX_HPP

#include <mutex>

#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// std::recursive_mutex with a scoped_lock. All functions may be called from any thread; unlock()
// only from the one that holds the lock, as often as it has taken it. lock() throws
// std::system_error as std::recursive_mutex does.
class recursive_mutex {
 public:
  using scoped_lock = detail::unique_scoped_lock<recursive_mutex>;
  using native_handle_type = std::recursive_mutex::native_handle_type;

  static constexpr bool is_rw_mutex = false;
  static constexpr bool is_recursive_mutex = true;
  static constexpr bool is_fair_mutex = false;

  recursive_mutex() = default;
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;

  // Waits until the lock is free or the caller's own, and takes it once more.
  void lock() {
    mutex_.lock();
    detail::note_lock_held(+1);
  }
  // Takes the lock if it is free or the caller's own; whether so.
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    detail::note_lock_held(+1);
    return true;
  }
  // Gives the lock back once.
  void unlock() {
    detail::note_lock_held(-1);
    mutex_.unlock();
  }

  // Of the std::recursive_mutex.
  native_handle_type native_handle() { return mutex_.native_handle(); }

 private:
  std::recursive_mutex mutex_;
};

}  // namespace corbel

#endif  // CORBEL_RECURSIVE_MUTEX_HPP
