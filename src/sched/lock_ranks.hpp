// SPDX-License-Identifier: Apache-2.0
// The order in which the scheduler's locks are taken: ascending, and before the allocator's, which
// begin at 16.
#pragma once

namespace corbel::sched {

enum LockRank : int { kControl, kObservers, kPool, kSleepers, kRegions, kQueue, kUnused, kOrder };

}  // namespace corbel::sched
