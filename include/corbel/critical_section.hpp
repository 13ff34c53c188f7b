// SPDX-License-Identifier: Apache-2.0
// The lock of classic TBB that notices when its holder wants it again. C++11 upwards. Needs
// libcorbel.
#ifndef CORBEL_CRITICAL_SECTION_HPP
#define CORBEL_CRITICAL_SECTION_HPP

#include <corbel/detail/lock_owner.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/mutex.hpp>

namespace corbel {

// All functions may be called from any thread; unlock() only from the one that holds the lock. For
// std::lock_guard and its like, too.
class critical_section {
 public:
  using scoped_lock = detail::unique_scoped_lock<critical_section>;

  static constexpr bool is_rw_mutex = false;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = false;

  critical_section() = default;
  critical_section(const critical_section&) = delete;
  critical_section& operator=(const critical_section&) = delete;

  // Waits until the lock is free, and takes it. Throws improper_lock if the caller holds it.
  void lock() {
    if (owner_.is_this_thread()) detail::raise(improper_lock());
    mutex_.lock();
    owner_.set_this_thread();
  }
  // Takes the lock if it is free; whether it was. False for the one that holds it.
  bool try_lock() {
    if (owner_.is_this_thread() || !mutex_.try_lock()) return false;
    owner_.set_this_thread();
    return true;
  }
  // Gives the lock back.
  void unlock() {
    owner_.clear();
    mutex_.unlock();
  }

 private:
  mutex mutex_;
  detail::lock_owner owner_;
};

}  // namespace corbel

#endif  // CORBEL_CRITICAL_SECTION_HPP
