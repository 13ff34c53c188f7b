// SPDX-License-Identifier: Apache-2.0
// When `corbel compare` says that two sides differ.
#include "compare/statistics.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace corbel::cli {
namespace {

Verdict compare(std::vector<double> base, std::vector<double> side) {
  return compare_summaries(summarise(std::move(base)), summarise(std::move(side)));
}

// Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than
// the Other" (1947): the probabilities for small samples, here from counting the orders by hand.
TEST(CompareStatisticsTest, RankProbabilities) {
  EXPECT_DOUBLE_EQ(rank_probability({1}, {2}), 1);
  EXPECT_DOUBLE_EQ(rank_probability({1, 2}, {3, 4}), 2.0 / 6);
  EXPECT_DOUBLE_EQ(rank_probability({1, 3}, {2, 4}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(rank_probability({1, 2, 3}, {6, 5, 4}), 2.0 / 20);
  EXPECT_DOUBLE_EQ(rank_probability({4, 5, 6, 7, 8}, {0, 1, 2, 3, -1}), 2.0 / 252);
  EXPECT_DOUBLE_EQ(rank_probability({1, 2, 3, 4, 6}, {5, 7, 8, 9, 10}), 4.0 / 252);
  EXPECT_DOUBLE_EQ(rank_probability({1, 1, 1}, {1, 1, 1}), 1);
}

TEST(CompareStatisticsTest, RankProbabilitiesOfManyRuns) {
  std::vector<double> low(100);
  std::vector<double> high(100);
  for (int i = 0; i < 100; ++i) {
    low[std::size_t(i)] = i;
    high[std::size_t(i)] = i + 0.5;
  }
  EXPECT_NEAR(rank_probability(low, high), 0.90, 0.02);
  for (double& value : high) value += 100;
  EXPECT_LT(rank_probability(low, high), 1e-20);
}

TEST(CompareStatisticsTest, OneDisturbedRunHidesNothing) {
  const std::vector<double> base = {10, 10.1, 13, 12, 11, 10.5};
  EXPECT_EQ(compare(base, {9, 9.5, 9.9, 8, 9.2, 9.4}), Verdict::kLower);
  EXPECT_EQ(compare(base, {9, 9.5, 9.9, 8, 9.2, 15}), Verdict::kSame) << "one of six is above all";
  EXPECT_EQ(compare({9, 9.5, 9.9, 8, 9.2, 9.4}, base), Verdict::kHigher);
}

TEST(CompareStatisticsTest, FewRunsAndSmallDifferences) {
  EXPECT_EQ(compare({1, 1}, {9, 9}), Verdict::kTooFewRuns);
  EXPECT_EQ(compare({10, 11, 12, 13}, {9, 8, 7, 9.5}), Verdict::kSame) << "four runs prove little";
  EXPECT_EQ(compare({10, 10, 10, 10, 10}, {10.01, 10.01, 10.01, 10.01, 10.01}), Verdict::kSame);
  const Summary base = summarise({10, 11, 12, 13, 14});
  const Summary side = summarise({20, 21, 22, 23, 24});
  EXPECT_EQ(compare_summaries(base, side, 9), Verdict::kHigher);
  EXPECT_EQ(compare_summaries(base, side, 10), Verdict::kSame);
}

// Two sides of the same distribution must seldom count as different.
TEST(CompareStatisticsTest, TheSameDistribution) {
  std::mt19937 random(1);
  for (const std::size_t runs : {3U, 5U, 6U, 7U, 9U, 15U}) {
    constexpr int kCases = 4000;
    int differ = 0;
    for (int i = 0; i < kCases; ++i) {
      std::exponential_distribution<double> delay(0.2);
      std::vector<double> base(runs);
      std::vector<double> side(runs);
      for (double& value : base) value = 100 + delay(random);
      for (double& value : side) value = 100 + delay(random);
      differ += compare(base, side) != Verdict::kSame;
    }
    EXPECT_LT(differ, kCases / 12) << runs << " runs a side";
  }
}

}  // namespace
}  // namespace corbel::cli
