// SPDX-License-Identifier: Apache-2.0
#include <corbel/detail/held_locks.hpp>

namespace corbel::detail {

__thread int held_locks = 0;

}  // namespace corbel::detail
