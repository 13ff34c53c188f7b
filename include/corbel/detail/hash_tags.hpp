// SPDX-License-Identifier: Apache-2.0
// The state of a bucket of a concurrent hash map, one word: a tag for each slot. Not for programs
// to include.
#ifndef CORBEL_DETAIL_HASH_TAGS_HPP
#define CORBEL_DETAIL_HASH_TAGS_HPP

#include <cstddef>
#include <cstdint>

namespace corbel {
namespace detail {

// Byte s + 1 of a state is the tag of slot s, 0 if the slot is free. All are compared at a time by
// arithmetic on the word (as in Facebook's F14 and Google's Swiss tables, there by vector
// instructions). A set of slots is a word in which bit 7 of their bytes is set. Byte 0:
//
//   kLocked     a thread changes the bucket
//   kOverflows  the last slot points to a block with more nodes, and has no tag
//   kVersion    counts what moves nodes between slots
struct hash_tags {
  static constexpr std::size_t kSlots = 7;
  static constexpr std::uint64_t kLocked = 1;
  static constexpr std::uint64_t kOverflows = 2;
  static constexpr std::uint64_t kVersionStep = 4;
  static constexpr std::uint64_t kVersion = 0xfc;
  // The state of a bucket that is not split off from its parent; no other has such bits.
  static constexpr std::uint64_t kNotSplit = kOverflows | std::uint64_t{1} << 56;

  // The tag of a hash. The bits that choose the bucket are the same for all in it, so the others
  // decide: the product mixes them into its top byte. The factor: see spread_hash().
  static std::uint64_t of(std::uint32_t hash) noexcept {
    const std::uint32_t mixed = hash * 0x9e3779b1 >> 24;
    return mixed != 0 ? mixed : 1;
  }

  // The tag in the byte of a slot, and in the bytes of all.
  static std::uint64_t at(std::uint64_t tag, std::size_t slot) noexcept {
    return tag << (8 * slot + 8);
  }
  static std::uint64_t repeated(std::uint64_t tag) noexcept { return tag * (kTops >> 7); }
  // The tag of a slot.
  static std::uint64_t get(std::uint64_t state, std::size_t slot) noexcept {
    return state >> (8 * slot + 8) & 0xff;
  }

  // The slots with the tag that is repeated in `wanted`.
  static std::uint64_t matches(std::uint64_t state, std::uint64_t wanted) noexcept {
    // In a byte that is not 0, the sum or the byte itself has bit 7. No sum carries into the next.
    const std::uint64_t different = state ^ wanted;
    return ~(((different & kLows) + kLows) | different) & kTops;
  }
  static std::uint64_t used(std::uint64_t state) noexcept { return matches(state, 0) ^ kTops; }
  static std::uint64_t free(std::uint64_t state) noexcept {
    const std::uint64_t all = matches(state, 0);
    return (state & kOverflows) == 0 ? all : all & ~(std::uint64_t{1} << 63);
  }

  // The first slot of a set that is not empty.
  static std::size_t first(std::uint64_t set) noexcept {
    return (static_cast<std::size_t>(__builtin_ctzll(set)) >> 3) - 1;
  }

 private:
  static constexpr std::uint64_t kTops = 0x8080808080808000;
  static constexpr std::uint64_t kLows = 0x7f7f7f7f7f7f7f7f;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_TAGS_HPP
