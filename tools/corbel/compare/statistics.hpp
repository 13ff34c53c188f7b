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
  std::vector<double> values;
};

Summary summarise(std::vector<double> values);

enum class Verdict { kLower, kHigher, kSame, kTooFewRuns };

// The probability that the values of two samples of the same distribution are ranked at least this
// far apart: the exact two-sided test of Mann and Whitney (1947). A tie counts as half.
double rank_probability(const std::vector<double>& base, const std::vector<double>& side);

// Whether `side` differs from `base`. A difference of the medians counts if it exceeds half a per
// cent and `resolution`, that of the measurement, and if one of these shows that it is not chance:
// - it exceeds the sum of both spreads: 1.4826 MAD each, the standard deviation of a normal
//   distribution, times 1 + 20/n² for n runs, because few runs lie close together by chance;
// - rank_probability() is at most 0.8 %. Five runs a side reach it if all of one side are above
//   all of the other. One disturbed run among more does not hide a difference from it.
// With fewer than three runs a side there is no verdict.
Verdict compare_summaries(const Summary& base, const Summary& side, double resolution = 0);

}  // namespace corbel::cli
