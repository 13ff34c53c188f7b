// SPDX-License-Identifier: Apache-2.0
// The smallest lock, for sections of a few instructions. C++11 upwards; spin_mutex of the oneTBB
// specification.
#ifndef CORBEL_SPIN_MUTEX_HPP
#define CORBEL_SPIN_MUTEX_HPP

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>

namespace corbel {

// One byte. Who waits spins, and lets others run after a while, but never sleeps. Not fair: who
// comes first may wait longest. Functions, thread safety: see detail::unique_mutex.
class spin_mutex : public detail::unique_mutex<spin_mutex, detail::spinning_mutex> {};

// TBB's lock that tries to run its sections as hardware transactions. Here it is a spin_mutex as
// long as a cache line: the processors that have such transactions have them switched off, and the
// interface promises no more than mutual exclusion.
class speculative_spin_mutex
    : public detail::unique_mutex<speculative_spin_mutex,
                                  detail::padded_algorithm<detail::spinning_mutex>> {};

}  // namespace corbel

#endif  // CORBEL_SPIN_MUTEX_HPP
