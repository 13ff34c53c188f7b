// SPDX-License-Identifier: Apache-2.0
// The figures that `corbel compare` draws from repeated runs.
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

// Whether `side` differs from `base`. A difference counts when the medians lie further apart than
// both spreads together (1.4826 MAD each, the standard deviation of a normal distribution; times
// 1 + 20/n² for n runs, because few runs lie close together by chance), than half a per cent, and
// than `least`, the resolution of what is measured. Below three runs a side nothing is said.
Verdict compare_summaries(const Summary& base, const Summary& side, double least = 0);

}  // namespace corbel::cli
