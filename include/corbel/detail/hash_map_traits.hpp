// SPDX-License-Identifier: Apache-2.0
// What concurrent_hash_map asks of its template arguments. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_TRAITS_HPP
#define CORBEL_DETAIL_HASH_MAP_TRAITS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/tbb_hash_compare.hpp>

namespace corbel {
namespace detail {

template <typename... T>
struct always_void {
  using type = void;
};

// Has a type if HashCompare::is_transparent exists. K makes it depend on a function's parameter.
template <typename HashCompare, typename K, typename = void>
struct if_transparent {};
template <typename HashCompare, typename K>
struct if_transparent<HashCompare, K, typename always_void<typename HashCompare::is_transparent>::type> {
  using type = void;
};

template <typename Iterator>
using if_iterator = typename std::iterator_traits<Iterator>::iterator_category;

template <typename Allocator>
using is_always_equal = typename std::allocator_traits<Allocator>::is_always_equal;

// Hashes and compares the keys of a map.
template <typename Key, typename HashCompare>
struct hash_map_traits {
  using key_type = Key;

  // Whether to compare two keys reads nothing but the keys, and destroying them does nothing.
  static constexpr bool kPlain = (std::is_arithmetic<Key>::value || std::is_pointer<Key>::value) &&
                                 std::is_same<HashCompare, tbb_hash_compare<Key>>::value &&
                                 std::is_base_of<default_hash_compare, HashCompare>::value;

  explicit hash_map_traits(const HashCompare& hash_compare) : compare(hash_compare) {}

  // All bits of the result depend on all bits of the program's hash, which often is the key. The
  // factor: see spread_hash().
  template <typename K>
  std::uint32_t hash(const K& key) const {
    std::uint64_t mixed = compare.hash(key);
    mixed ^= mixed >> 32;
    mixed *= 0x9e3779b97f4a7c15;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  template <typename K>
  bool equal(const K& key, const Key& of_element) const {
    return compare.equal(key, of_element);
  }

  HashCompare compare;
};

template <typename Key, typename HashCompare>
constexpr bool hash_map_traits<Key, HashCompare>::kPlain;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_TRAITS_HPP
