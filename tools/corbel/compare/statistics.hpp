// SPDX-License-Identifier: Apache-2.0
// The statistics of `corbel compare`.
#pragma once

#include <string>
#include <vector>

namespace corbel::cli {

struct Summary {
  double median = 0;
  double mad = 0;  // median absolute deviation from the median
  double min = 0;
  double max = 0;
  std::size_t count = 0;
};

Summary summarise(std::vector<double> values);

enum class Verdict { kLower, kHigher, kSame, kTooFewRuns };

// Whether `side` differs from `base`. A difference counts when the distance of the medians exceeds
// all of these:
// - the sum of both spreads: 1.4826 MAD each, the standard deviation of a normal distribution,
// times
//   1 + 20/n² for n runs, because few runs lie close together by chance;
// - half a per cent;
// - `resolution`, that of the measurement.
// With fewer than three runs a side there is no verdict.
Verdict compare_summaries(const Summary& base, const Summary& side, double resolution = 0);

}  // namespace corbel::cli
