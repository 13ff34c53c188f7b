// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/tick_count.h>

#include <chrono>
#include <thread>
#include <type_traits>

namespace {

static_assert(std::is_same<tbb::tick_count, corbel::tick_count>::value, "one class, two names");

TEST(TickCount, MeasuresASleep) {
  const tbb::tick_count start = tbb::tick_count::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double seconds = (tbb::tick_count::now() - start).seconds();
  EXPECT_GE(seconds, 0.05);
  EXPECT_LT(seconds, 30);
}

TEST(TickCount, NeverGoesBack) {
  tbb::tick_count last = tbb::tick_count::now();
  for (int i = 0; i < 10000; ++i) {
    const tbb::tick_count now = tbb::tick_count::now();
    ASSERT_GE((now - last).seconds(), 0.0);
    last = now;
  }
}

TEST(TickCount, IntervalsAddUp) {
  using Interval = tbb::tick_count::interval_t;
  EXPECT_EQ(Interval().seconds(), 0.0);
  const Interval a(1.5), b(0.25);
  EXPECT_DOUBLE_EQ(a.seconds(), 1.5);
  EXPECT_DOUBLE_EQ((a + b).seconds(), 1.75);
  EXPECT_DOUBLE_EQ((a - b).seconds(), 1.25);
  EXPECT_DOUBLE_EQ((b - a).seconds(), -1.25);
  Interval c(a);
  c += b;
  EXPECT_DOUBLE_EQ(c.seconds(), 1.75);
  c -= a;
  EXPECT_DOUBLE_EQ(c.seconds(), 0.25);
  EXPECT_TRUE(b < a);
}

TEST(TickCount, DefaultIsTheStartOfTheClock) {
  const tbb::tick_count zero;
  EXPECT_GT((tbb::tick_count::now() - zero).seconds(), 0.0);
}

TEST(TickCount, ResolutionIsBelowAMillisecond) {
  EXPECT_GT(tbb::tick_count::resolution(), 0.0);
  EXPECT_LT(tbb::tick_count::resolution(), 1e-3);
}

}  // namespace
