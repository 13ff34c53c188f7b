// SPDX-License-Identifier: Apache-2.0
// The tags that mark splitting constructors of ranges and bodies. C++11 and later. Follows the
// oneTBB specification 1.4 ([algorithms.split_tags]).
#ifndef CORBEL_SPLIT_HPP
#define CORBEL_SPLIT_HPP

#include <cstddef>

namespace corbel {

// Marks the constructor X(X& whole, split), which takes about half of `whole`.
class split {};

// Marks the constructor X(X& whole, proportional_split), which leaves left() parts of
// left() + right() in `whole` and takes the other right() parts.
class proportional_split {
 public:
  // At least one of the two must be positive. Does not throw.
  constexpr proportional_split(std::size_t left = 1, std::size_t right = 1)
      : left_(left), right_(right) {}

  // The shares of the two parts.
  constexpr std::size_t left() const { return left_; }
  constexpr std::size_t right() const { return right_; }

  // For ranges that can only be halved. Explicit, so that a range with both constructors is never
  // halved by accident.
  explicit constexpr operator split() const { return split(); }

 private:
  std::size_t left_;
  std::size_t right_;
};

}  // namespace corbel

#endif  // CORBEL_SPLIT_HPP
