// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/time_types.hpp"

namespace corbel::alloc {

constinit AddHeapSamples add_heap_samples = nullptr;

}  // namespace corbel::alloc
