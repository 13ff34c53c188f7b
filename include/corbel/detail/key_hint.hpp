// SPDX-License-Identifier: Apache-2.0
// Hints of the keys of ordered containers: see skip_list.hpp. Not for programs to include.
#ifndef CORBEL_DETAIL_KEY_HINT_HPP
#define CORBEL_DETAIL_KEY_HINT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>  // and std::less, std::greater
#include <string>
#include <type_traits>

#include <corbel/detail/skip_list.hpp>

namespace corbel {
namespace detail {

// Whether the towers of containers with this type of keys have space for hints, and the hint of a
// key under the ascending order of its type. Only for types whose order no program can define.
// kIsText: many keys may begin with the same characters, and common() and after() exist.
template <typename Key, typename = void>
struct key_hint {
  static constexpr bool kExists = false;
  static constexpr bool kIsText = false;
};

template <typename Key>
struct key_hint<Key, typename std::enable_if<std::is_integral<Key>::value &&
                                             sizeof(Key) <= sizeof(std::uintptr_t)>::type> {
  static constexpr bool kExists = true;
  static constexpr bool kIsText = false;
  static std::uintptr_t of(const Key& key) noexcept {
    constexpr std::uintptr_t kSign =
        std::is_signed<Key>::value ? ~(static_cast<std::uintptr_t>(-1) >> 1) : 0;
    return static_cast<std::uintptr_t>(key) ^ kSign;
  }
};

// The first characters, the first of them the most significant.
template <typename Allocator>
struct key_hint<std::basic_string<char, std::char_traits<char>, Allocator>, void> {
  using text = std::basic_string<char, std::char_traits<char>, Allocator>;

  static constexpr bool kExists = true;
  static constexpr bool kIsText = true;
  static std::uintptr_t of(const text& key) noexcept { return of(key.data(), key.size()); }

  // The number of characters that both begin with.
  static std::size_t common(const text& a, const text& b) noexcept {
    const std::size_t most = (std::min)(a.size(), b.size());
    std::size_t same = 0;
    while (same < most && a.data()[same] == b.data()[same]) ++same;
    return same;
  }
  // A hint of a key, which is a text, from what follows the prefix: the least one for a key that
  // comes before all texts with the prefix, the greatest one for a key that comes after them.
  static std::uintptr_t after(const void* key, const char* prefix, std::size_t size) noexcept {
    const text& t = *static_cast<const text*>(key);
    const int order = std::memcmp(t.data(), prefix, (std::min)(t.size(), size));
    if (CORBEL_UNLIKELY(order != 0)) return order < 0 ? 0 : static_cast<std::uintptr_t>(-1);
    return t.size() <= size ? 0 : of(t.data() + size, t.size() - size);
  }

 private:
  static std::uintptr_t of(const char* characters, std::size_t count) noexcept {
    constexpr std::size_t kSize = sizeof(std::uintptr_t);
    unsigned char first[kSize];
    if (CORBEL_LIKELY(count >= kSize)) {
      std::memcpy(first, characters, kSize);
    } else {
      for (std::size_t i = 0; i < kSize; ++i)
        first[i] = i < count ? static_cast<unsigned char>(characters[i]) : 0;
    }
    std::uintptr_t hint = 0;
    for (std::size_t i = 0; i < kSize; ++i) hint = hint << 8 | first[i];
    return hint;
  }
};

// The hints of keys of type Key under the order of Compare, if `kExists`.
template <typename Key, typename Compare>
struct ordered_hint {
  static constexpr bool kExists = false;
  static constexpr bool kIsText = false;
  static std::uintptr_t of(const Key&) noexcept { return kNoHint; }
};

template <typename Key, bool = key_hint<Key>::kExists>
struct ascending_hint : key_hint<Key> {};
template <typename Key>
struct ascending_hint<Key, false> {
  static constexpr bool kExists = false;
  static constexpr bool kIsText = false;
  static std::uintptr_t of(const Key&) noexcept { return kNoHint; }
};
template <typename Key>
struct descending_hint : ascending_hint<Key> {
  static std::uintptr_t of(const Key& key) noexcept {
    return ascending_hint<Key>::kExists ? ~ascending_hint<Key>::of(key) : kNoHint;
  }
  static std::uintptr_t after(const void* key, const char* prefix, std::size_t size) noexcept {
    return ~ascending_hint<Key>::after(key, prefix, size);
  }
};

template <typename Key>
struct ordered_hint<Key, std::less<Key>> : ascending_hint<Key> {};
template <typename Key>
struct ordered_hint<Key, std::less<void>> : ascending_hint<Key> {};
template <typename Key>
struct ordered_hint<Key, std::greater<Key>> : descending_hint<Key> {};
template <typename Key>
struct ordered_hint<Key, std::greater<void>> : descending_hint<Key> {};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_KEY_HINT_HPP
