// SPDX-License-Identifier: Apache-2.0
// A lock that reports an attempt to lock it twice. C++11 and later. Follows TBB 2020
// (critical_section). Needs libcorbel.
#ifndef CORBEL_CLASSIC_CRITICAL_SECTION_HPP
#define CORBEL_CLASSIC_CRITICAL_SECTION_HPP

#include <corbel/detail/context_node.hpp>
#include <corbel/detail/lock_owner.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/mutex.hpp>

namespace corbel {

// Meets the mutex requirements of the C++ standard ([thread.mutex.requirements.mutex]), except that
// lock() throws improper_lock. Any thread may call the functions, unlock() only the thread that
// holds the lock.
class critical_section {
 public:
  using scoped_lock = detail::unique_scoped_lock<critical_section>;

  static constexpr bool is_rw_mutex = false;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = false;

  critical_section() = default;
  critical_section(const critical_section&) = delete;
  critical_section& operator=(const critical_section&) = delete;

  // Waits until the lock is free, and acquires it. Throws improper_lock if the caller holds it.
  void lock() {
    if (owner_.is_this_thread()) detail::raise_own(improper_lock());
    mutex_.lock();
    owner_.set_this_thread();
  }
  // Acquires the lock if it is free; returns whether it did. Returns false if the caller holds it.
  bool try_lock() {
    if (owner_.is_this_thread() || !mutex_.try_lock()) return false;
    owner_.set_this_thread();
    return true;
  }
  // Releases the lock.
  void unlock() {
    owner_.clear();
    mutex_.unlock();
  }

 private:
  mutex mutex_;
  detail::lock_owner owner_;
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_CRITICAL_SECTION_HPP
