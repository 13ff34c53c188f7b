// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and the hash functions that TBB 2020 had here.
#pragma once

#include <oneapi/tbb/concurrent_unordered_set.h>
#include <corbel/classic/hash.hpp>
#include <corbel/tbb_hash_compare.hpp>

namespace tbb {
inline namespace v1 {
using corbel::tbb_hash;
using corbel::tbb_hasher;
}  // namespace v1
}  // namespace tbb
