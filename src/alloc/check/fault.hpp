// SPDX-License-Identifier: Apache-2.0
// Accesses to guard pages and to protected blocks.
#pragma once

namespace corbel::alloc {

// From now on, such an access is reported. False if the system refuses.
bool watch_faults();

}  // namespace corbel::alloc
