// SPDX-License-Identifier: Apache-2.0
// A small random generator, one for each thread. A seed gives the same numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::stress {

// SplitMix64 of G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number
// generators" (2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    return mix(state_);
  }

  // 0 to n - 1; n must not be 0.
  std::size_t below(std::size_t n) { return std::size_t(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  // `low` to `high`; each power of two between them is equally likely.
  std::size_t log_between(std::size_t low, std::size_t high) {
    std::size_t limit = low;
    const std::size_t doublings = std::size_t(__builtin_clzl(low) - __builtin_clzl(high)) + 1;
    limit <<= below(doublings);
    const std::size_t n = limit + below(limit);
    return n < high ? n : high;
  }

 private:
  std::uint64_t state_;
};

}  // namespace corbel::stress
