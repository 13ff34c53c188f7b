// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock for critical sections of a few instructions. C++11 and later. Follows the
// oneTBB specification 1.4 (spin_rw_mutex, speculative_spin_rw_mutex).
#ifndef CORBEL_SPIN_RW_MUTEX_HPP
#define CORBEL_SPIN_RW_MUTEX_HPP

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/basic_rw_mutex.hpp>
#include <corbel/detail/elided_lock.hpp>
#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// Four bytes. A waiting thread spins, then yields its processor between tries, but never sleeps.
// Not fair, but a waiting writer makes new readers wait. Functions and thread safety: see
// detail::shared_mutex.
class spin_rw_mutex
    : public detail::shared_mutex<spin_rw_mutex,
                                  detail::basic_rw_mutex<std::atomic, detail::spinning_wait>> {
 public:
  // ---- from TBB 2020

  // Other names of lock_shared and try_lock_shared.
  void lock_read() { lock_shared(); }
  bool try_lock_read() { return try_lock_shared(); }
  // Releases the lock, which the calling thread holds as the writer or as a reader.
  void unlock() {
    if (algorithm_.has_readers()) {
      unlock_shared();
    } else {
      shared_mutex::unlock();
    }
  }
};

// A spin_rw_mutex, padded to a cache line, that runs critical sections as hardware transactions, as
// speculative_spin_mutex does. Transactions of readers and writers do not block each other; a
// reader or a writer that holds the lock keeps transactions from beginning.
class speculative_spin_rw_mutex
    : public detail::shared_mutex<
          speculative_spin_rw_mutex,
          detail::padded_algorithm<
              detail::elided_lock<detail::basic_rw_mutex<std::atomic, detail::spinning_wait>>>> {};

}  // namespace corbel

#endif  // CORBEL_SPIN_RW_MUTEX_HPP
