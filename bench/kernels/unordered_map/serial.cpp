// SPDX-License-Identifier: Apache-2.0
// An unordered map of one thread: std::unordered_map.
#include <unordered_map>

#include "unordered_map.hpp"

namespace {

template <typename Key>
using Map = insert_find::StandardMap<std::unordered_map<Key, std::uint64_t>, Key>;

}  // namespace

const bench::Kernel bench::kernel = unordered_map::description(insert_find::measure<Map>);
