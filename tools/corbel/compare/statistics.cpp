// SPDX-License-Identifier: Apache-2.0
// The statistics of `corbel compare`. It uses medians: a disturbed run is then one outlier and does
// not shift the result.
#include "compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace corbel::cli {
namespace {

constexpr double kDeviationsPerMad = 1.4826;
constexpr double kMinDifference = 0.005;
constexpr double kSmallSampleFactor = 20;
constexpr double kRankLevel = 0.008;

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// In how many orders of `m` and `n` values the value of the first is larger in 0, 1, ... m * n of
// all pairs: the coefficients of the Gaussian binomial (m + n over m).
std::vector<double> orders_by_pairs(std::size_t m, std::size_t n) {
  std::vector<double> orders(m * n + 1);
  orders[0] = 1;
  for (std::size_t i = 1; i <= m; ++i) {
    for (std::size_t k = m * n; k >= n + i; --k) orders[k] -= orders[k - n - i];
    for (std::size_t k = i; k <= m * n; ++k) orders[k] += orders[k - i];
  }
  return orders;
}

}  // namespace

double rank_probability(const std::vector<double>& base, const std::vector<double>& side) {
  double larger = 0;
  for (const double a : base) {
    for (const double b : side) larger += a > b ? 1 : a == b ? 0.5 : 0;
  }
  const std::vector<double> orders = orders_by_pairs(base.size(), side.size());
  const auto pairs = static_cast<double>(orders.size() - 1);
  const auto least = static_cast<std::ptrdiff_t>(std::min(larger, pairs - larger));
  const double tail = std::accumulate(orders.begin(), orders.begin() + least + 1, 0.0);
  return std::min(1.0, 2 * tail / std::accumulate(orders.begin(), orders.end(), 0.0));
}

Summary summarise(std::vector<double> values) {
  Summary summary;
  summary.values = values;
  summary.count = values.size();
  if (values.empty()) return summary;
  summary.median = median_of(values);
  summary.min = values.front();
  summary.max = values.back();
  for (double& value : values) value = std::fabs(value - summary.median);
  summary.mad = median_of(values);
  return summary;
}

Verdict compare_summaries(const Summary& base, const Summary& side, double resolution) {
  if (base.count < 3 || side.count < 3) return Verdict::kTooFewRuns;
  const double difference = side.median - base.median;
  // Two samples of the same normal distribution count as different in 2 to 5 of 100 cases with
  // three to five runs a side, and in 1 with seven or more. Without this factor it would be 10 to
  // 27, and 4.
  const auto runs = static_cast<double>(std::min(base.count, side.count));
  const double widening = 1 + kSmallSampleFactor / (runs * runs);
  const double spread = widening * kDeviationsPerMad * (base.mad + side.mad);
  const double share = kMinDifference * std::max(base.median, side.median);
  if (std::fabs(difference) <= std::max(share, resolution)) return Verdict::kSame;
  if (std::fabs(difference) <= spread && rank_probability(base.values, side.values) > kRankLevel) {
    return Verdict::kSame;
  }
  return difference < 0 ? Verdict::kLower : Verdict::kHigher;
}

}  // namespace corbel::cli
