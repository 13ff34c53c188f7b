// SPDX-License-Identifier: Apache-2.0
// The smallest lock, for critical sections of a few instructions. C++11 and later. Follows the
// oneTBB specification 1.4 (spin_mutex, speculative_spin_mutex).
#ifndef CORBEL_SPIN_MUTEX_HPP
#define CORBEL_SPIN_MUTEX_HPP

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/elided_lock.hpp>
#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// One byte. A waiting thread spins, then yields its processor between tries, but never sleeps. Not
// fair: the first thread to wait may wait longest. Functions and thread safety: see
// detail::unique_mutex.
class spin_mutex : public detail::unique_mutex<spin_mutex, detail::spinning_mutex> {};

// A spin_mutex, padded to a cache line, that runs critical sections as hardware transactions where
// the processor has them (RTM of x86): critical sections that touch different data run at the same
// time. A transaction that is aborted, because another thread touches the same data or because of
// something that cannot be undone, like a system call, is tried again or runs under the lock.
class speculative_spin_mutex
    : public detail::unique_mutex<
          speculative_spin_mutex,
          detail::padded_algorithm<detail::elided_lock<detail::spinning_mutex>>> {};

}  // namespace corbel

#endif  // CORBEL_SPIN_MUTEX_HPP
