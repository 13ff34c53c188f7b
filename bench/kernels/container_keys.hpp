// SPDX-License-Identifier: Apache-2.0
// The keys and the operations of the kernels that measure associative containers. The Rust programs
// have the same in container_keys.rs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "harness.hpp"
#include "marks.hpp"

namespace bench {

// The i-th key: all differ and none follows from another. A string is too long to fit into the
// std::string itself.
template <typename Key>
Key key_of(std::uint64_t i) {
  const std::uint64_t mark = mark_of(i);
  if constexpr (std::is_same_v<Key, std::string>) {
    std::string made = "user:0000000000000000000";
    for (std::size_t digit = 0; digit < 16; ++digit) {
      made[8 + digit] = "0123456789abcdef"[mark >> (4 * digit) & 15];
    }
    return made;
  } else {
    return mark;
  }
}

template <typename Key>
std::vector<Key> keys_of(std::uint64_t count) {
  std::vector<Key> made;
  made.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) made.push_back(key_of<Key>(i));
  return made;
}

// The work is divided into lanes, and every thread runs whole lanes. What happens to a key depends
// on its lane alone where keys belong to lanes, so the result is the same on any number of threads.
inline constexpr std::uint64_t kLanes = 64;

// Calls `body(lane)` for every lane, on `threads` threads; returns the seconds.
template <typename Body>
double in_lanes(unsigned threads, const Body& body) {
  return in_threads(threads, [&](unsigned thread) {
    for (std::uint64_t lane = kLanes * thread / threads; lane < kLanes * (thread + 1) / threads;
         ++lane) {
      body(lane);
    }
  });
}

// Draws ranks below `count`: uniform, or by Zipf's law with exponent 0.99, as in YCSB (Cooper et
// al., SoCC 2010), but by an exact table. The keys are random, so rank i may be key i.
class Ranks {
 public:
  Ranks(std::uint64_t count, bool zipf) : count_(count) {
    if (!zipf) return;
    double sum = 0;
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      sum += 1 / std::pow(static_cast<double>(rank + 1), 0.99);
      below_.push_back(sum);
    }
  }

  std::uint32_t draw(Random& random) const {
    if (below_.empty()) return random.below(static_cast<std::uint32_t>(count_));
    const double at = static_cast<double>(random.next() >> 11) * 0x1p-53 * below_.back();
    return static_cast<std::uint32_t>(std::lower_bound(below_.begin(), below_.end(), at) -
                                      below_.begin());
  }

 private:
  std::uint64_t count_;
  std::vector<double> below_;  // the sums of the weights, rising
};

}  // namespace bench
