// SPDX-License-Identifier: Apache-2.0
// The lock for sections that may take long. C++11 upwards; mutex of the oneTBB specification. Needs
// libcorbel.
#ifndef CORBEL_MUTEX_HPP
#define CORBEL_MUTEX_HPP

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {

// Four bytes. Who waits spins for some microseconds and sleeps then. Not fair. Functions, thread
// safety: see detail::unique_mutex.
class mutex
    : public detail::unique_mutex<mutex, detail::basic_mutex<std::atomic, detail::sleeping_wait>> {
};

}  // namespace corbel

#endif  // CORBEL_MUTEX_HPP
