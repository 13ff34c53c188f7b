// SPDX-License-Identifier: Apache-2.0
// An ordered map with the oneTBB API.
#include <tbb/concurrent_map.h>

#include "ordered_map.hpp"

namespace {

template <typename Key>
using Map = insert_find::StandardMap<tbb::concurrent_map<Key, std::uint64_t>, Key>;

}  // namespace

const bench::Kernel bench::kernel = ordered_map::description(insert_find::measure<Map>);
