// SPDX-License-Identifier: Apache-2.0
// A recursive lock, based on std::recursive_mutex. C++11 and later. Follows TBB 2020.
#ifndef CORBEL_RECURSIVE_MUTEX_HPP
#define CORBEL_RECURSIVE_MUTEX_HPP

#include <mutex>

#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// A std::recursive_mutex with a scoped_lock. Any thread may call the functions, unlock() only the
// thread that holds the lock, once for each time it has locked it.
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

  // Waits until the lock is free, unless the caller holds it, and acquires it once more. Throws
  // std::system_error as std::recursive_mutex does.
  void lock() {
    mutex_.lock();
    detail::note_lock_held(+1);
  }
  // Acquires the lock if it is free or the caller holds it; returns whether it did.
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    detail::note_lock_held(+1);
    return true;
  }
  // Releases the lock once.
  void unlock() {
    detail::note_lock_held(-1);
    mutex_.unlock();
  }

  // Returns the handle of the std::recursive_mutex.
  native_handle_type native_handle() { return mutex_.native_handle(); }

 private:
  std::recursive_mutex mutex_;
};

}  // namespace corbel

#endif  // CORBEL_RECURSIVE_MUTEX_HPP
