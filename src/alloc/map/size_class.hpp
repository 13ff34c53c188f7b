// SPDX-License-Identifier: Apache-2.0
// Size classes: which block sizes exist, and how a slab of each is laid out.
//
//   class 0          8 bytes
//   classes 1..8     16 to 128 in steps of 16
//   classes 9..64    eight classes per doubling, up to 16 KiB: at most 1/8 of a block is wasted
//   classes 65..92   20 KiB to 128 KiB in steps of 4 KiB: less than a page is wasted
//
// Larger blocks get a span of their own (large.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"

namespace corbel::alloc {

// A slab begins at a multiple of kUnit and takes a whole number of units. The page map has one
// descriptor per unit.
inline constexpr std::size_t kUnit = 64 * 1024;
inline constexpr unsigned kUnitBits = 16;

inline constexpr std::size_t kSmallMax = 1024;         // served by the inline path of malloc
inline constexpr std::size_t kMediumMax = 128 * 1024;  // served from slabs
inline constexpr unsigned kClasses = 93;

inline constexpr unsigned kPageStepBits = 12;  // of the classes above 16 KiB

constexpr unsigned class_of(std::size_t size) {
  if (size <= 8) return 0;
  if (size <= 128) return unsigned((size + 15) / 16);
  const std::size_t last = size - 1;
  const unsigned order = log2_floor(last);
  if (order < 14) return 9 + (order - 7) * 8 + unsigned(last >> (order - 3)) - 8;
  return 61 + unsigned(last >> kPageStepBits);
}

struct SizeClass {
  std::uint32_t block_size;
  std::uint32_t units;     // of a slab
  std::uint32_t capacity;  // blocks in a slab: units * kUnit / block_size
  std::uint32_t carve;     // blocks that are carved at once: a page's worth, at least one
  std::uint32_t inverse;   // 2^32 / block_size, rounded up

  // The number of the block that begins at `offset` in a slab; capacity or more if no block does.
  // Divides by multiplying with the inverse. If `offset` is the beginning of block k, the product
  // exceeds k by less than 2^-12, so rounding down gives k. If `offset` is the beginning of no
  // block, no number times the block size equals it, whatever the division gives.
  constexpr std::uint32_t block_at(std::uint32_t offset) const {
    const auto index = std::uint32_t((std::uint64_t(offset) * inverse) >> 32);
    return index * block_size == offset ? index : ~std::uint32_t(0);
  }
};

namespace detail {

constexpr std::size_t block_size_of(unsigned index) {
  if (index == 0) return 8;
  if (index <= 8) return index * 16;
  if (index <= 64) return std::size_t((index - 9) % 8 + 9) << ((index - 9) / 8 + 4);
  return std::size_t(index - 60) << kPageStepBits;
}

// The units of a slab. A slab has few blocks, because a thread that uses a few large blocks of many
// sizes has a slab of each size: the smallest slab that holds eight blocks, or two with at most
// 1/16 of the slab left over at its end. Above 16 KiB it is 1/8, because there are more classes,
// and what is left over are whole pages, which are not touched.
constexpr std::size_t units_of(std::size_t block_size) {
  for (std::size_t units = 1;; ++units) {
    const std::size_t slab = units * kUnit;
    const std::size_t most_left = slab / (block_size > 16 * 1024 ? 8 : 16);
    const bool leaves_little = slab >= block_size * 2 && slab % block_size <= most_left;
    if (leaves_little || slab >= block_size * 8) return units;
  }
}

struct SizeClasses {
  SizeClass of[kClasses];
  constexpr const SizeClass& operator[](std::size_t index) const { return of[index]; }
  constexpr const SizeClass* begin() const { return of; }
  constexpr const SizeClass* end() const { return of + kClasses; }
};

constexpr SizeClasses make_classes() {
  SizeClasses classes{};
  for (unsigned i = 0; i < kClasses; ++i) {
    const std::size_t size = block_size_of(i);
    const std::size_t units = units_of(size);
    const std::size_t carve = size >= 4096 ? 1 : 4096 / size;
    classes.of[i] = {std::uint32_t(size), std::uint32_t(units), std::uint32_t(units * kUnit / size),
                     std::uint32_t(carve), std::uint32_t(divide_up(std::size_t(1) << 32, size))};
  }
  return classes;
}

}  // namespace detail

inline constexpr detail::SizeClasses kSizeClasses = detail::make_classes();

static_assert(kSizeClasses[class_of(kSmallMax)].block_size == kSmallMax);
static_assert(class_of(kMediumMax) == kClasses - 1);
static_assert(kSizeClasses[kClasses - 1].block_size == kMediumMax);

// The smallest class whose blocks hold `size` bytes and are aligned to `alignment`; kClasses if
// there is none. Slabs begin at multiples of kUnit, so a block size that is a multiple of
// `alignment` suffices.
constexpr unsigned aligned_class_of(std::size_t size, std::size_t alignment) {
  if (size > kMediumMax || alignment > kUnit) return kClasses;
  unsigned index = class_of(size);
  while (index < kClasses && kSizeClasses[index].block_size % alignment != 0) ++index;
  return index;
}

}  // namespace corbel::alloc
