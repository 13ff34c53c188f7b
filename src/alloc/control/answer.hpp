// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "os/os.hpp"

namespace corbel::alloc {

// Answers one request of the corbel command; see os::take_requests. Runs in a signal handler.
void answer_request(const os::Request& request);

}  // namespace corbel::alloc
