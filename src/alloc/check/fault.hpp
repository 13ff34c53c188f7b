// SPDX-License-Identifier: Apache-2.0
// Accesses to guard pages and to protected blocks.
#pragma once

#include "alloc/check/ledger.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// From now on, such an access is reported. False if the system refuses.
bool watch_faults();

// Reports the access, and that it concerns `block`. Ends the process.
[[noreturn]] void report_access(const os::Fault& fault, const BlockRef& block);

}  // namespace corbel::alloc
