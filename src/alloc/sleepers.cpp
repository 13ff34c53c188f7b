// SPDX-License-Identifier: Apache-2.0
#include "alloc/sleepers.hpp"

namespace corbel::alloc {

std::size_t take_over_sleepers(bool) { return 0; }

}  // namespace corbel::alloc
