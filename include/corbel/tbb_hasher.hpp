// SPDX-License-Identifier: Apache-2.0
// The hash function of keys in concurrent_hash_map. C++11 and later. Follows TBB 2020 (tbb_hasher).
#ifndef CORBEL_TBB_HASHER_HPP
#define CORBEL_TBB_HASHER_HPP

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

// Spreads a hash over all bits: std::hash of a number often is the number. The factor is the golden
// ratio (D. Knuth, "The Art of Computer Programming", vol. 3, section 6.4).
inline std::size_t spread_hash(std::size_t hash) noexcept {
  constexpr unsigned long long kFactor = 0x9e3779b97f4a7c15ULL;
  hash *= static_cast<std::size_t>(kFactor >> (64 - 8 * sizeof(std::size_t))) | 1;
  return hash ^ (hash >> (4 * sizeof(std::size_t)));
}

template <typename T>
inline std::size_t hash_of(const T& value, std::true_type /* std::hash knows T */) {
  return std::hash<T>()(value);
}
template <typename T>
inline std::size_t hash_of(const T& value, std::false_type) {
  return static_cast<std::size_t>(value);
}

// std::hash of a string depends on all characters in all bits.
template <typename Text>
inline std::size_t hash_of_text(const Text& text, std::true_type /* std::hash knows Text */) {
  return std::hash<Text>()(text);
}
template <typename Text>
inline std::size_t hash_of_text(const Text& text, std::false_type) {
  std::size_t hash = 0;
  for (const auto& c : text) hash = spread_hash(hash ^ hash_of(c, std::true_type()));
  return hash;
}

}  // namespace detail

// Return the hash of `value`: of a type that std::hash knows or that converts to size_t, of a
// pointer, a string, or a pair of such. A program adds overloads for its types in their own
// namespaces. Any thread may call them.
template <typename T>
inline std::size_t tbb_hasher(const T& value) {
  return detail::spread_hash(detail::hash_of(value, std::is_default_constructible<std::hash<T>>()));
}
template <typename T>
inline std::size_t tbb_hasher(T* pointer) {
  return detail::spread_hash(std::hash<T*>()(pointer));
}
template <typename Char, typename Traits, typename Allocator>
inline std::size_t tbb_hasher(const std::basic_string<Char, Traits, Allocator>& text) {
  using hash = std::hash<std::basic_string<Char, Traits, Allocator>>;
  return detail::hash_of_text(text, std::is_default_constructible<hash>());
}
template <typename First, typename Second>
inline std::size_t tbb_hasher(const std::pair<First, Second>& both) {
  return detail::spread_hash(tbb_hasher(both.first) + 1) ^ tbb_hasher(both.second);
}

}  // namespace corbel

#endif  // CORBEL_TBB_HASHER_HPP
