// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and the hash function of TBB 2020.
#pragma once

#include <oneapi/tbb/concurrent_hash_map.h>
#include <corbel/classic/hash.hpp>

namespace tbb {
inline namespace v1 {
using corbel::tbb_hash;
}
}  // namespace tbb
