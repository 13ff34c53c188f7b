// SPDX-License-Identifier: Apache-2.0
// The reader-writer lock for sections that may take long. C++11 upwards; rw_mutex of the oneTBB
// specification. Needs libcorbel.
#ifndef CORBEL_RW_MUTEX_HPP
#define CORBEL_RW_MUTEX_HPP

#include <corbel/detail/basic_rw_mutex.hpp>
#include <corbel/detail/scoped_lock.hpp>
#include <corbel/detail/wait_on_address.hpp>

namespace corbel {

// Four bytes. Who waits spins for some microseconds and sleeps then. Not fair, but readers that
// come while a writer waits stay behind it. Functions, thread safety: see detail::shared_mutex.
class rw_mutex
    : public detail::shared_mutex<rw_mutex,
                                  detail::basic_rw_mutex<std::atomic, detail::sleeping_wait>> {};

}  // namespace corbel

#endif  // CORBEL_RW_MUTEX_HPP
