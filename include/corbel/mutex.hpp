// SPDX-License-Identifier: Apache-2.0
// A lock for critical sections that may be long. C++11 and later. Follows the oneTBB specification
// 1.4 (mutex). Needs libcorbel.
#ifndef CORBEL_MUTEX_HPP
#define CORBEL_MUTEX_HPP

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {

// Four bytes. A waiting thread spins for a few microseconds, then sleeps. Not fair. Functions and
// thread safety: see detail::unique_mutex.
class mutex
    : public detail::unique_mutex<mutex, detail::basic_mutex<std::atomic, detail::sleeping_wait>> {
};

}  // namespace corbel

#endif  // CORBEL_MUTEX_HPP
