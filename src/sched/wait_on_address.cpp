// SPDX-License-Identifier: Apache-2.0
#include <corbel/detail/wait_on_address.hpp>

#include "os/os.hpp"

namespace corbel::detail {

void wait_on_address(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  os::wait(word, expected);
}

void wake_one_by_address(std::atomic<std::uint32_t>& word) noexcept { os::wake_one(word); }

void wake_all_by_address(std::atomic<std::uint32_t>& word) noexcept { os::wake_all(word); }

}  // namespace corbel::detail
