// SPDX-License-Identifier: Apache-2.0
// How many cancellations there have been; see context_node.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::detail {

extern std::atomic<std::uint64_t> cancellations;

}  // namespace corbel::detail
