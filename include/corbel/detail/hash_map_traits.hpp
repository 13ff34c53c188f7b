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
struct if_transparent<HashCompare, K,
                      typename always_void<typename HashCompare::is_transparent>::type> {
  using type = void;
};

template <typename Allocator>
using is_always_equal = typename std::allocator_traits<Allocator>::is_always_equal;

// Mixes a program's hash, which often is the key, to a number whose low bits choose a bucket. As
// few hashes as possible share a bucket if they are dense, or multiples of a number: each step adds
// to low bits a function of higher ones, so different hashes of 32 bits stay different, as do dense
// ones modulo the number of buckets. Neighbours stay within 256 buckets. The factor: see
// spread_hash().
inline std::uint32_t mix_hash(std::uint64_t hash) noexcept {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  const std::uint64_t high = (hash >> 32) * kFactor >> 32;
  const std::uint64_t middle = (hash >> 16) * kFactor >> 48;
  const auto mixed = static_cast<std::uint32_t>(hash ^ high ^ middle);
  return mixed ^ (mixed >> 8 & 0xff);
}

// What a program's hash of a number or a pointer need not be called for.
template <typename Number>
inline typename std::enable_if<std::is_integral<Number>::value, std::uint64_t>::type plain_hash(
    Number key) noexcept {
  return static_cast<std::uint64_t>(key);
}
template <typename Number>
inline typename std::enable_if<std::is_floating_point<Number>::value, std::uint64_t>::type
plain_hash(Number key) {
  return tbb_hash_compare<Number>::hash(key);
}
template <typename T>
inline std::uint64_t plain_hash(T* key) noexcept {
  // Objects are aligned, most of them to 16.
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(key);
  return address >> 4 | address << 60;
}

// Hashes and compares the keys of a map.
template <typename Key, typename HashCompare>
struct hash_map_traits {
  using key_type = Key;

  // Whether to compare two keys reads nothing but the keys, and destroying them does nothing.
  static constexpr bool kPlain = (std::is_arithmetic<Key>::value || std::is_pointer<Key>::value) &&
                                 std::is_same<HashCompare, tbb_hash_compare<Key>>::value &&
                                 std::is_base_of<default_hash_compare, HashCompare>::value;

  explicit hash_map_traits(const HashCompare& hash_compare) : compare(hash_compare) {}

  template <typename K>
  std::uint32_t hash(const K& key) const {
    return mix_hash(hash(key, std::integral_constant<bool, kPlain>()));
  }
  template <typename K>
  bool equal(const K& key, const Key& of_element) const {
    return compare.equal(key, of_element);
  }

  HashCompare compare;

 private:
  template <typename K>
  std::uint64_t hash(const K& key, std::true_type) const {
    return plain_hash(key);
  }
  template <typename K>
  std::uint64_t hash(const K& key, std::false_type) const {
    return compare.hash(key);
  }
};

template <typename Key, typename HashCompare>
constexpr bool hash_map_traits<Key, HashCompare>::kPlain;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_TRAITS_HPP
