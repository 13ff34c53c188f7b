// SPDX-License-Identifier: Apache-2.0
// The pipelines of TBB 2020: filters as objects, and the lambda filters under their old names.
#include <gtest/gtest.h>
#include <tbb/pipeline.h>
#include <tbb/task.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "helped.hpp"

namespace {

struct Item {
  int number;
  test::Counted counted;
};

class First : public tbb::filter {
 public:
  First(tbb::filter::mode m, int n, test::Balance* b) : filter(m), end_(n), balance_(b) {}
  void* operator()(void* nothing) override {
    EXPECT_EQ(nothing, nullptr);
    const int i = next_++;
    return i < end_ ? new Item{i, test::Counted(*balance_)} : nullptr;
  }

 private:
  std::atomic<int> next_{0};
  const int end_;
  test::Balance* const balance_;
};

class Middle : public tbb::filter {
 public:
  explicit Middle(int throws_at = -1) : filter(/*is_serial=*/false), throws_at_(throws_at) {}
  void* operator()(void* item) override {
    Item* const i = static_cast<Item*>(item);
    if (i->number % 7 == 0) test::work_a_little();
    if (i->number == throws_at_) {
      delete i;
      throw std::runtime_error("middle");
    }
    i->number *= 2;
    return i;
  }
  void finalize(void* item) override { delete static_cast<Item*>(item); }

 private:
  const int throws_at_;
};

class Last : public tbb::filter {
 public:
  explicit Last(bool is_serial) : filter(is_serial) {}
  void* operator()(void* item) override {
    Item* const i = static_cast<Item*>(item);
    if (is_serial()) order.push_back(i->number);
    sum += i->number;
    delete i;
    return nullptr;
  }
  void finalize(void* item) override { delete static_cast<Item*>(item); }

  std::vector<int> order;
  std::atomic<int> sum{0};
};

TEST(ClassicPipeline, PassesItemsInOrder) {
  for (const tbb::filter::mode mode : {tbb::filter::serial, tbb::filter::serial_in_order,
                                       tbb::filter::serial_out_of_order, tbb::filter::parallel}) {
    test::Balance balance;
    First first(mode, 200, &balance);
    Middle middle;
    Last last(true);
    tbb::pipeline p;
    p.add_filter(first);
    p.add_filter(middle);
    p.add_filter(last);
    p.run(5);
    EXPECT_EQ(last.sum, 200 * 199);
    EXPECT_EQ(last.order.size(), 200U);
    if (first.is_serial()) {
      EXPECT_TRUE(std::is_sorted(last.order.begin(), last.order.end()));
    }
    EXPECT_EQ(balance.alive, 0);
  }
}

TEST(ClassicPipeline, FiltersComeAndGo) {
  test::Balance balance;
  tbb::pipeline p;
  p.run(1);
  Last last(false);
  {
    First first(tbb::filter::serial, 10, &balance);
    tbb::pipeline other;
    other.add_filter(first);
    other.add_filter(last);
    other.run(2);
    EXPECT_EQ(last.sum, 45);
    other.clear();
    p.add_filter(first);
    EXPECT_FALSE(last.is_serial());
    EXPECT_FALSE(last.is_ordered());
    EXPECT_TRUE(first.is_ordered());
  }
  // `first` removed itself from the pipeline when it was destroyed.
  First again(tbb::filter::serial_out_of_order, 10, &balance);
  p.add_filter(again);
  p.add_filter(last);
  tbb::task_group_context context;
  p.run(2, context);
  EXPECT_EQ(last.sum, 90);
  EXPECT_EQ(balance.alive, 0);
}

TEST(ClassicPipeline, ItemsAreFinalized) {
  for (int at = 0; at < 100; at += 9) {
    test::Balance balance;
    First first(tbb::filter::serial, 100, &balance);
    Middle middle(at);
    Last last(true);
    tbb::pipeline p;
    p.add_filter(first);
    p.add_filter(middle);
    p.add_filter(last);
    EXPECT_THROW(p.run(10), std::runtime_error);
    EXPECT_EQ(balance.alive, 0) << at;
  }
}

// As in TBB 2020: a filter may return nullptr for an item that it has used up.
TEST(ClassicPipeline, NullIsNotFinalized) {
  struct Nothing : tbb::filter {
    explicit Nothing(bool is_first) : filter(tbb::filter::serial), left_(is_first ? 1 : 0) {}
    void* operator()(void*) override {
      if (left_-- > 0) return this;
      tbb::task::self().cancel_group_execution();
      return nullptr;
    }
    void finalize(void* item) override { EXPECT_NE(item, nullptr); }
    int left_;
  };
  Nothing first(true);
  Nothing middle(false);
  Nothing last(false);
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(middle);
  p.add_filter(last);
  p.run(1);
}

TEST(ClassicPipeline, LambdaFilters) {
  int next = 0;
  std::vector<int> order;
  const tbb::filter_t<void, int> first(tbb::filter::serial_in_order,
                                       [&](tbb::flow_control& control) {
                                         if (next == 100) control.stop();
                                         return next++;
                                       });
  const tbb::filter_t<void, void> chain =
      first & tbb::make_filter<int, int>(tbb::filter::parallel, [](int i) { return 2 * i; }) &
      tbb::make_filter<int, void>(tbb::filter::serial, [&](int i) { order.push_back(i); });
  tbb::parallel_pipeline(4, chain);
  EXPECT_EQ(order.size(), 100U);
  EXPECT_EQ(order.back(), 198);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
