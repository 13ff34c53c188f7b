// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace corbel::alloc {

// Answers one request of the corbel command; see os::take_requests. Runs in a signal handler.
void answer_request(std::uint64_t number);

}  // namespace corbel::alloc
