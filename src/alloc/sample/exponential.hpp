// SPDX-License-Identifier: Apache-2.0
// The two functions that sampling needs of the mathematical library, which the allocator does not
// link.
#pragma once

#include <bit>
#include <cstdint>

namespace corbel::alloc {

inline constexpr double kLn2 = 0.6931471805599453;

// -ln((bits | 1) / 2^64): exponential with the mean 1 if `bits` is uniform. From 0 to 45.
constexpr double minus_ln(std::uint64_t bits) {
  // The uniform number is m / 2^zeros, with m from 1/2 to 1.
  const int zeros = std::countl_zero(bits | 1);
  const double m = double((bits | 1) << zeros) * 0x1p-64;
  // ln(m) = 2 artanh(t), with t from -1/3 to 0: twelve terms of the series suffice.
  const double t = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 23; k > 0; k -= 2) sum = sum * t * t + 1.0 / k;
  return zeros * kLn2 - 2 * t * sum;
}

// 1 - exp(-x) for x >= 0, with full relative precision for small x.
constexpr double one_minus_exp(double x) {
  if (x > 64) return 1;
  const int halvings = int(x / kLn2);
  const double r = x - halvings * kLn2;  // from 0 to ln 2
  // 1 - exp(-r) = r (1 - r/2 (1 - r/3 (1 - ...)))
  double sum = 1;
  for (int k = 18; k > 1; --k) sum = 1 - r / k * sum;
  double power = 1;
  for (int i = 0; i < halvings; ++i) power /= 2;
  return halvings == 0 ? r * sum : 1 - (1 - r * sum) * power;
}

}  // namespace corbel::alloc
