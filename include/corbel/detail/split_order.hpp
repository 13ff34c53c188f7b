// SPDX-License-Identifier: Apache-2.0
// The order of the elements in a split-ordered list (O. Shalev and N. Shavit, "Split-ordered lists:
// lock-free extensible hash tables", J. ACM 53, 2006). Not for programs to include.
//
// Elements are sorted by their hash values read from the lowest bit to the highest. So in a table
// of 2^k buckets, those whose values agree in the lower k bits are neighbours: they are the bucket
// of that number. With 2^(k+1) buckets each of these groups falls into two, the first of which
// keeps the number: a table doubles without moving any element.
#ifndef CORBEL_DETAIL_SPLIT_ORDER_HPP
#define CORBEL_DETAIL_SPLIT_ORDER_HPP

#include <cstddef>
#include <cstdint>

namespace corbel {
namespace detail {

// Whether hash value or bucket number a comes before b. They differ first at their lowest different
// bit.
inline bool precedes(std::size_t a, std::size_t b) noexcept {
  const std::size_t differ = a ^ b;
  return (differ & (~differ + 1) & b) != 0;
}

// The lower `bits` bits of `word` in the opposite order.
inline std::size_t reversed(std::size_t word, int bits) noexcept {
  std::size_t result = 0;
  for (; bits > 0; --bits, word >>= 1) result = result << 1 | (word & 1);
  return result;
}

// Spreads hash values over the buckets. The library's hash of a number or a pointer is often the
// number itself, whose lower bits alone are a bad choice of a bucket: pointers are multiples of 16.
// But a program often uses numbers in sequence, and finds the next one sooner if its bucket is next
// to the last. So 512 values in sequence keep to a page of buckets, in which they have a bucket
// each, and pages are spread by a multiplication (with 2^64 divided by the golden ratio, as in
// Fibonacci hashing), which also mixes the order within the page.
inline std::size_t spread(std::size_t hash) noexcept {
  const std::uint64_t page = (std::uint64_t{hash} >> 9) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>((hash & 511) ^ (page >> 32 | page << 32));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SPLIT_ORDER_HPP
