// SPDX-License-Identifier: Apache-2.0
// A check of what the program asks of an arena. api/info.cpp defines it.
#pragma once

#include <corbel/info.hpp>

namespace corbel::detail {

// Throws std::invalid_argument if `max_threads_per_core` is neither positive nor automatic.
void check_constraints(const constraints& limits);

}  // namespace corbel::detail
