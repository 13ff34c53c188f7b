// SPDX-License-Identifier: Apache-2.0
// The time that the intervals of a trace cover.
#include "sched/trace/covered_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using corbel::sched::trace::CoveredTime;

TEST(CoveredTimeTest, OverlapsCountOnce) {
  CoveredTime time;
  EXPECT_EQ(time.add(10, 20), 10U);
  EXPECT_EQ(time.add(30, 40), 10U);
  EXPECT_EQ(time.add(15, 35), 10U);
  EXPECT_EQ(time.add(12, 38), 0U);
  EXPECT_EQ(time.add(40, 41), 1U);
  EXPECT_EQ(time.add(50, 50), 0U);
  EXPECT_EQ(time.total(), 31U);
}

TEST(CoveredTimeTest, WhatIsForgottenStaysCounted) {
  CoveredTime time;
  time.add(10, 20);
  time.add(30, 40);
  time.forget_before(35);
  time.add(35, 50);
  EXPECT_EQ(time.total(), 30U);
}

// Compares with a table of which units of time are covered.
TEST(CoveredTimeTest, RandomIntervals) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    CoveredTime time;
    std::vector<char> covered(1000);
    for (int i = 0; i < 40; ++i) {
      const std::size_t begin = random() % 900;
      const std::size_t end = begin + random() % 40;
      const auto before = std::count(covered.begin(), covered.end(), 1);
      std::fill(covered.begin() + std::ptrdiff_t(begin), covered.begin() + std::ptrdiff_t(end), 1);
      const auto after = std::count(covered.begin(), covered.end(), 1);
      ASSERT_EQ(time.add(begin, end), std::uint64_t(after - before));
      ASSERT_EQ(time.total(), std::uint64_t(after));
    }
  }
}

// A program may make any number of calls while another one lasts.
TEST(CoveredTimeTest, ManyIntervalsDoNotNeedMemoryWithoutBound) {
  CoveredTime time;
  for (std::uint64_t i = 0; i < 200000; ++i) time.add(2 * i, 2 * i + 1);
  EXPECT_EQ(time.total(), 200000U);
}

}  // namespace
