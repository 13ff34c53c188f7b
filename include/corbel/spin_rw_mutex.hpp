// SPDX-License-Identifier: Apache-2.0
// The reader-writer lock for sections of a few instructions. C++11 upwards; spin_rw_mutex of the
// oneTBB specification.
#ifndef CORBEL_SPIN_RW_MUTEX_HPP
#define CORBEL_SPIN_RW_MUTEX_HPP

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/basic_rw_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// Four bytes. Who waits spins, and lets others run after a while, but never sleeps. Not fair, but
// readers that come while a writer waits stay behind it. Functions, thread safety: see
// detail::shared_mutex.
class spin_rw_mutex
    : public detail::shared_mutex<spin_rw_mutex,
                                  detail::basic_rw_mutex<std::atomic, detail::spinning_wait>> {
 public:
  // ---- classic TBB: other names for what a reader does, and one unlock for readers and writers

  void lock_read() { lock_shared(); }
  bool try_lock_read() { return try_lock_shared(); }
  void unlock() {
    if (algorithm_.has_readers()) {
      unlock_shared();
    } else {
      shared_mutex::unlock();
    }
  }
};

// TBB's lock that tries to run its sections as hardware transactions; here a spin_rw_mutex as long
// as a cache line, for the reasons at speculative_spin_mutex.
class speculative_spin_rw_mutex
    : public detail::shared_mutex<
          speculative_spin_rw_mutex,
          detail::padded_algorithm<detail::basic_rw_mutex<std::atomic, detail::spinning_wait>>> {};

}  // namespace corbel

#endif  // CORBEL_SPIN_RW_MUTEX_HPP
