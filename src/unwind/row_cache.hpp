// SPDX-License-Identifier: Apache-2.0
// Rows that have been computed, for all threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/known_objects.hpp"
#include "unwind/row.hpp"

namespace corbel::unwind {

// A row is a function of the code alone: of the object's content, for which it has a number that no
// other content ever gets (known_objects.hpp), and of the offset in it. So an entry never becomes
// wrong, and it does not matter which of two threads has written it.
//
// An entry is one word, and therefore always whole: the row, and what is left of the key when the
// index of the entry's set is known. The key is scrambled by a bijection, so index and rest
// together are as good as the key, and no entry is ever taken for another key's.
//
// A set has four entries, the newest first. With one, two functions of a stack that is often walked
// would now and then replace each other at each walk, which then takes twice the time.
class RowCache {
 public:
  // Kind::kNone if there is none. Requires: 1 <= object <= kMaxKnownObjects.
  Row find(std::uint32_t object, std::uint32_t offset) const {
    const std::uint64_t key = scrambled(object, offset);
    for (const auto& place : sets_[key >> kRestBits].entries) {
      // relaxed here and below: the word alone is all that there is to know
      const std::uint64_t entry = place.load(std::memory_order_relaxed);
      if (entry >> kRowBits == (key & kRest)) return Row::from_bits(std::uint32_t(entry));
    }
    return Row();
  }

  // If threads add to a set at once, an entry may get lost.
  void add(std::uint32_t object, std::uint32_t offset, Row row) {
    const std::uint64_t key = scrambled(object, offset);
    std::uint64_t entry = (key & kRest) << kRowBits | row.bits();
    for (auto& place : sets_[key >> kRestBits].entries) {
      const std::uint64_t older = place.load(std::memory_order_relaxed);
      place.store(entry, std::memory_order_relaxed);
      entry = older;
    }
  }

 private:
  static constexpr unsigned kRowBits = 32;
  static constexpr unsigned kKeyBits = 42;
  static constexpr unsigned kIndexBits = 11;
  static constexpr unsigned kRestBits = kKeyBits - kIndexBits;
  static constexpr std::uint64_t kRest = (std::uint64_t{1} << kRestBits) - 1;
  static constexpr std::uint64_t kKey = (std::uint64_t{1} << kKeyBits) - 1;
  static_assert(kMaxKnownObjects < 1U << (kKeyBits - 32) && kRestBits <= 64 - kRowBits);

  // Both steps can be undone: a product with an odd number modulo a power of two, and a number with
  // its upper half added to the lower one without carries.
  static std::uint64_t scrambled(std::uint32_t object, std::uint32_t offset) {
    std::uint64_t key = std::uint64_t{object} << 32 | offset;
    key = key * 0x9e3779b97f4a7c15 & kKey;  // 2^64 / the golden ratio
    return key ^ key >> (kKeyBits / 2);
  }

  // An entry of 0 has a row of Kind::kNone.
  struct Set {
    std::atomic<std::uint64_t> entries[4];
  };
  Set sets_[std::size_t{1} << kIndexBits];
};

}  // namespace corbel::unwind
