// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/lock_ranks.hpp"

namespace corbel::alloc {

constinit sync::Lock checks_lock{lock_rank::kChecks};

void set_up_checks() {}

}  // namespace corbel::alloc
