// SPDX-License-Identifier: Apache-2.0
#include "alloc/footprint.hpp"

namespace corbel::alloc {

constinit Footprint footprint;

}  // namespace corbel::alloc
