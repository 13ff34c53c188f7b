// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/lock_ranks.hpp"

namespace corbel::alloc {

constinit sync::Lock samples_lock{lock_rank::kSamples};

void set_up_sampling() {}

}  // namespace corbel::alloc
