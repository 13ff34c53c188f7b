// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corbel::sched {

// Lets the corbel command ask for the scheduler's figures, if the process has Corbel's allocator,
// which answers its requests.
void provide_figures();

}  // namespace corbel::sched
