// SPDX-License-Identifier: Apache-2.0
// How concurrent_hash_map hashes and compares keys unless it is told otherwise. C++11 and later.
// Follows the oneTBB specification 1.4 (tbb_hash_compare).
#ifndef CORBEL_TBB_HASH_COMPARE_HPP
#define CORBEL_TBB_HASH_COMPARE_HPP

#include <cstddef>

#include <corbel/tbb_hasher.hpp>

namespace corbel {
namespace detail {

// Marks the class that no program has specialised.
struct default_hash_compare {};

}  // namespace detail
}  // namespace corbel

// In this namespace, because programs specialise the class in it.
namespace tbb {
inline namespace v1 {

// Hashes keys with tbb_hasher, and compares them with ==. A program may specialise it for its
// types, or add overloads of tbb_hasher or specialisations of std::hash for them. Functions throw
// what those throw. Any thread may call them.
template <typename Key>
struct tbb_hash_compare : corbel::detail::default_hash_compare {
  // Returns the hash of a key; equal keys have equal hashes.
  static std::size_t hash(const Key& key) {
    using corbel::tbb_hasher;
    return tbb_hasher(key);
  }

  // Whether the keys are equal.
  static bool equal(const Key& a, const Key& b) { return a == b; }
};

}  // namespace v1
}  // namespace tbb

namespace corbel {

using tbb::tbb_hash_compare;

}  // namespace corbel

#endif  // CORBEL_TBB_HASH_COMPARE_HPP
