// SPDX-License-Identifier: Apache-2.0
// An unordered map with the oneTBB API.
#include <tbb/concurrent_unordered_map.h>

#include "unordered_map.hpp"

namespace {

template <typename Key>
using Map = insert_find::StandardMap<tbb::concurrent_unordered_map<Key, std::uint64_t>, Key>;

}  // namespace

const bench::Kernel bench::kernel = unordered_map::description(insert_find::measure<Map>);
