// SPDX-License-Identifier: Apache-2.0
// The hash function of TBB 2020 as an object. C++11 and later. New programs use std::hash.
#ifndef CORBEL_CLASSIC_HASH_HPP
#define CORBEL_CLASSIC_HASH_HPP

#include <cstddef>

#include <corbel/tbb_hasher.hpp>

namespace corbel {

// tbb_hasher as a function object.
template <typename Key>
struct tbb_hash {
  std::size_t operator()(const Key& key) const { return tbb_hasher(key); }
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_HASH_HPP
