// SPDX-License-Identifier: Apache-2.0
// parallel_scan: every prefix, in the right order, and the calls of the bodies.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "helped.hpp"

namespace {

using Range = tbb::blocked_range<int>;

// What happened to the bodies of one call.
struct Log {
  test::Balance bodies;
  std::atomic<int> splits{0};
  std::atomic<int> joins{0};
  std::atomic<int> assigns{0};
  std::atomic<int> wrong_joins{0};
  std::atomic<int> crowds{0};     // two threads used one body, or it was split at a bad time
  std::atomic<int> throws_in{0};  // the step that throws, counted down
  std::vector<std::atomic<int>> pre, final;
  explicit Log(int n) : pre(static_cast<std::size_t>(n)), final(static_cast<std::size_t>(n)) {}

  void step() {
    if (--throws_in == 0) throw std::runtime_error("step");
  }
};

// The sum of an interval [from, to) of numbers. It does not commute at all: only neighbours may be
// added, in their order.
struct Interval {
  int from = -1;  // -1: empty
  int to = -1;

  static Interval sum(const Interval& left, const Interval& right) {
    if (left.from < 0) return right;
    if (right.from < 0) return left;
    if (left.to != right.from) throw std::logic_error("not neighbours");
    return {left.from, right.to};
  }
};

class Body {
 public:
  Body(Log* log, std::vector<int>* results) : log_(log), results_(results), alive_(log->bodies) {
    is_touched_ = false;
  }
  Body(Body& whole, tbb::split)
      : log_(whole.log_), results_(whole.results_), alive_(log_->bodies), split_off_(&whole) {
    ++log_->splits;
    if (whole.is_touched_) ++log_->crowds;
    log_->step();
    if (wait) test::work_a_little();
    if (whole.is_touched_) ++log_->crowds;
    is_touched_ = false;
  }
  Body(const Body&) = delete;

  template <typename Tag>
  void operator()(const Range& r, Tag tag) {
    const Use use(this);
    log_->step();
    if (wait && r.begin() % 3 == 0) test::work_a_little();
    for (int i = r.begin(); i < r.end(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (tag.is_final_scan()) {
        ++log_->final[at];
        (*results_)[at] = sum.from < 0 ? 0 : sum.to - sum.from;
        if (sum.from > 0) ++log_->wrong_joins;
      } else {
        ++log_->pre[at];
      }
      sum = Interval::sum(sum, {i, i + 1});
    }
  }
  void reverse_join(Body& left) {
    const Use use(this);
    const Use use_left(&left);
    is_touched_ = true;
    ++log_->joins;
    log_->step();
    if (wait) test::work_a_little();
    is_touched_ = false;
    if (split_off_ != &left) ++log_->wrong_joins;
    sum = Interval::sum(left.sum, sum);
  }
  void assign(Body& other) {
    ++log_->assigns;
    log_->step();
    sum = other.sum;
  }

  Interval sum;
  static bool wait;

 private:
  struct Use {
    explicit Use(Body* body) : of(body) {
      if (of->inside_.exchange(true)) ++of->log_->crowds;
    }
    ~Use() { of->inside_ = false; }
    Body* of;
  };
  Log* log_;
  std::vector<int>* results_;
  test::Counted alive_;
  Body* split_off_ = nullptr;
  std::atomic<bool> inside_{false};
  std::atomic<bool> is_touched_{true};  // by construction or a join
};
bool Body::wait = false;

template <typename... Partitioner>
void check(int n, int grainsize, const Partitioner&... partitioner) {
  Log log(n);
  std::vector<int> results(static_cast<std::size_t>(n), -1);
  {
    Body body(&log, &results);
    tbb::parallel_scan(Range(0, n, static_cast<std::size_t>(grainsize)), body, partitioner...);
    EXPECT_EQ(body.sum.from, n > 0 ? 0 : -1);
    EXPECT_EQ(body.sum.to, n > 0 ? n : -1);
  }
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(results[at], i);
    ASSERT_EQ(log.final[at], 1) << i;
    ASSERT_LE(log.pre[at], 1) << i;
  }
  // No piece is on the right of the last one, so none needs its sum early.
  if (n > 0) {
    EXPECT_EQ(log.pre.back(), 0);
  }
  EXPECT_EQ(log.joins, log.splits);
  EXPECT_EQ(log.wrong_joins, 0);
  EXPECT_EQ(log.crowds, 0);
  EXPECT_LE(log.assigns, 1);
  EXPECT_EQ(log.bodies.alive, 0);
  EXPECT_EQ(log.bodies.made, 1 + log.splits);
}

TEST(Scan, EveryPrefix) {
  for (const bool wait : {false, true}) {
    Body::wait = wait;
    for (const int n : {0, 1, 2, 3, 10, 63, 64, 65, 1000}) {
      check(n, 1);
      check(n, 1, tbb::auto_partitioner());
      check(n, 1, tbb::simple_partitioner());
      check(n, 7, tbb::simple_partitioner());
    }
  }
  Body::wait = false;
  check(30000, 100);
  check(30000, 1, tbb::simple_partitioner());
}

TEST(Scan, TheLastPieceIsNeverScannedAhead) {
  Body::wait = true;
  for (int i = 0; i < 500; ++i) {
    for (const int n : {2, 3, 5, 9}) check(n, 1, tbb::simple_partitioner());
  }
  Body::wait = false;
}

TEST(Scan, AnotherThreadScansAhead) {
  Body::wait = true;
  const int n = 1000;
  int helped = 0;
  test::wait_for(
      [&] {
        Log log(n);
        std::vector<int> results(n);
        Body body(&log, &results);
        tbb::parallel_scan(Range(0, n), body);
        EXPECT_EQ(body.sum.to, n);
        helped += log.joins > 0;
        return helped > 0;
      },
      2000);
  Body::wait = false;
  if (helped == 0) {
    GTEST_SKIP() << "no other thread helped";
  }
}

// Uses a call in which no other thread took part; most calls are too short for one to come.
TEST(Scan, OneThreadMakesOneFinalScan) {
  const int n = 1000;
  std::atomic<int> alone{0};
  for (int round = 0; round < 50 && alone == 0; ++round) {
    Log log(n);
    std::vector<int> results(n);
    Body body(&log, &results);
    tbb::parallel_scan(Range(0, n), body);
    if (log.splits != 0) continue;
    ++alone;
    EXPECT_EQ(log.joins, 0);
    EXPECT_EQ(log.assigns, 0);
    for (const std::atomic<int>& times : log.pre) EXPECT_EQ(times, 0);
  }
  if (alone == 0) {
    GTEST_SKIP() << "other threads helped in every call";
  }
}

TEST(Scan, FunctionsThatDoNotCommute) {
  const int n = 2000;
  const auto check_with = [&](const auto&... partitioner) {
    std::vector<std::string> before(n);
    const std::string all = tbb::parallel_scan(
        Range(0, n), std::string(),
        [&](const Range& r, std::string sum, bool is_final) {
          for (int i = r.begin(); i < r.end(); ++i) {
            if (is_final) before[static_cast<std::size_t>(i)] = sum;
            sum += static_cast<char>('a' + i % 26);
          }
          return sum;
        },
        [](const std::string& left, const std::string& right) { return left + right; },
        partitioner...);
    std::string expected;
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(before[static_cast<std::size_t>(i)], expected);
      expected += static_cast<char>('a' + i % 26);
    }
    EXPECT_EQ(all, expected);
  };
  check_with();
  check_with(tbb::auto_partitioner());
  check_with(tbb::simple_partitioner());
}

TEST(Scan, Tags) {
  EXPECT_TRUE(tbb::final_scan_tag::is_final_scan());
  EXPECT_FALSE(tbb::pre_scan_tag::is_final_scan());
  EXPECT_TRUE(tbb::final_scan_tag());
  EXPECT_FALSE(tbb::pre_scan_tag());
}

// A range whose copies and splits may throw.
std::atomic<int> range_steps{0};
struct FragileRange : Range, test::Counted {
  FragileRange(int n, test::Balance& balance) : Range(0, n), Counted(balance) {}
  FragileRange(const FragileRange& other) : Range(other), Counted(other) { step(); }
  FragileRange(FragileRange& whole, tbb::split s) : Range(whole, s), Counted(whole) { step(); }
  static void step() {
    if (--range_steps == 0) throw std::runtime_error("range");
  }
};

TEST(ScanErrors, NothingIsLeakedWhereverItThrows) {
  const int n = 300;
  Body::wait = true;
  for (const bool in_range : {false, true}) {
    for (int at = 1; at < 400; at += at < 30 ? 1 : 23) {
      test::Balance ranges;
      Log log(n);
      std::vector<int> results(n);
      bool thrown = false;
      int sum = 0;
      {
        Body body(&log, &results);
        const FragileRange range(n, ranges);
        log.throws_in = in_range ? 0 : at;
        range_steps = in_range ? at : 0;
        try {
          tbb::parallel_scan(range, body);
        } catch (const std::runtime_error&) {
          thrown = true;
        }
        sum = body.sum.to;
      }
      EXPECT_EQ(thrown, (in_range ? range_steps : log.throws_in) <= 0) << at;
      if (!thrown) {
        EXPECT_EQ(sum, n);
      }
      EXPECT_EQ(log.bodies.alive, 0) << at;
      EXPECT_EQ(ranges.alive, 0) << at;
    }
  }
  Body::wait = false;
}

TEST(ScanNested, OneInTheOther) {
  const int n = 50;
  const int all = tbb::parallel_scan(
      Range(0, n), 0,
      [&](const Range& r, int sum, bool) {
        for (int i = r.begin(); i < r.end(); ++i) {
          sum += tbb::parallel_scan(
              Range(0, n), 0,
              [](const Range& inner, int s, bool) { return s + static_cast<int>(inner.size()); },
              [](int a, int b) { return a + b; });
        }
        return sum;
      },
      [](int a, int b) { return a + b; });
  EXPECT_EQ(all, n * n);
}

}  // namespace
