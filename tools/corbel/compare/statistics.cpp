// SPDX-License-Identifier: Apache-2.0
// The statistics of `corbel compare`. It uses medians: a disturbed run is then one outlier and does
// not shift the result.
#include "compare/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace corbel::cli {
namespace {

constexpr double kDeviationsPerMad = 1.4826;
constexpr double kMinDifference = 0.005;
constexpr double kSmallSampleFactor = 20;

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Summary summarise(std::vector<double> values) {
  Summary summary;
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
  if (std::fabs(difference) <= std::max({spread, share, resolution})) return Verdict::kSame;
  return difference < 0 ? Verdict::kLower : Verdict::kHigher;
}

}  // namespace corbel::cli
