// SPDX-License-Identifier: Apache-2.0
// An ordered map of one thread: std::map.
#include <map>

#include "ordered_map.hpp"

namespace {

template <typename Key>
using Map = insert_find::StandardMap<std::map<Key, std::uint64_t>, Key>;

}  // namespace

const bench::Kernel bench::kernel = ordered_map::description(insert_find::measure<Map>);
