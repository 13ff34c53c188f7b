// SPDX-License-Identifier: Apache-2.0
// The library's part of the mutexes in the headers.
#include <corbel/detail/held_locks.hpp>
#include <corbel/detail/wait_on_address.hpp>

#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::detail {

CORBEL_EXPORTED_THREAD_VARIABLE(int, held_locks, own_held_locks) = 0;

void wait_on_address(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  os::wait(word, expected);
}

void wake_one_by_address(std::atomic<std::uint32_t>& word) noexcept { os::wake_one(word); }

void wake_all_by_address(std::atomic<std::uint32_t>& word) noexcept { os::wake_all(word); }

}  // namespace corbel::detail
