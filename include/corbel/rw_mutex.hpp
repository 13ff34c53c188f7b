// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock for critical sections that may be long. C++11 and later. Follows the oneTBB
// specification 1.4 (rw_mutex). Needs libcorbel.
#ifndef CORBEL_RW_MUTEX_HPP
#define CORBEL_RW_MUTEX_HPP

#include <corbel/detail/basic_rw_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {

// Four bytes. A waiting thread spins for a few microseconds, then sleeps. Not fair, but a waiting
// writer makes new readers wait. Functions and thread safety: see detail::shared_mutex.
class rw_mutex
    : public detail::shared_mutex<rw_mutex,
                                  detail::basic_rw_mutex<std::atomic, detail::sleeping_wait>> {};

}  // namespace corbel

#endif  // CORBEL_RW_MUTEX_HPP
