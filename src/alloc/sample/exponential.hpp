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
  constexpr double kInverses[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                  1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const double t = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 11; k >= 0; --k) sum = sum * t * t + kInverses[k];
  return zeros * kLn2 - 2 * t * sum;
}

// 1 - exp(-x) for x >= 0, with full relative precision for small x.
constexpr double one_minus_exp(double x) {
  if (x > 64) return 1;
  const int halvings = int(x / kLn2);
  const double r = x - halvings * kLn2;  // from 0 to ln 2
  // 1 - exp(-r) = r - r^2/2! + r^3/3! - ...
  double sum = r;
  double term = r;
  for (int k = 2; term > sum * 1e-17 || -term > sum * 1e-17; ++k) {
    term *= -r / k;
    sum += term;
  }
  double power = 1;
  for (int i = 0; i < halvings; ++i) power /= 2;
  return halvings == 0 ? sum : 1 - (1 - sum) * power;
}

}  // namespace corbel::alloc
