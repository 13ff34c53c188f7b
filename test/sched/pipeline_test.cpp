// SPDX-License-Identifier: Apache-2.0
// parallel_pipeline: the order, the number of items in flight, and that each item is destroyed
// once.
#include <gtest/gtest.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "helped.hpp"

namespace {

using tbb::filter_mode;
constexpr filter_mode kModes[] = {filter_mode::parallel, filter_mode::serial_in_order,
                                  filter_mode::serial_out_of_order};

// Yields 0, 1, ... n - 1 in any mode.
class Numbers {
 public:
  explicit Numbers(int n) : end_(n) {}
  int operator()(tbb::flow_control& control) const {
    const int i = (*next_)++;
    if (i >= end_) control.stop();
    return i;
  }

 private:
  std::shared_ptr<std::atomic<int>> next_ = std::make_shared<std::atomic<int>>(0);
  int end_;
};

// Counts the threads that are inside at the same time.
class Inside {
 public:
  template <typename F>
  void operator()(const F& f) {
    const int now = ++inside_;
    int most = most_;
    while (most < now && !most_.compare_exchange_weak(most, now)) {
    }
    f();
    --inside_;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

void sometimes_wait(int i) {
  if (i % 7 == 3) test::work_a_little();
}

// Every combination of modes, with few and with many tokens.
TEST(Pipeline, EveryItemPassesOnceAndInOrder) {
  constexpr int kItems = 100;
  for (const filter_mode first : kModes) {
    for (const filter_mode second : kModes) {
      for (const filter_mode third : kModes) {
        for (const std::size_t tokens : {1U, 2U, 5U, 100U}) {
          Inside in_first, in_second, in_third;
          std::atomic<int> alive{0};
          std::atomic<int> most_alive{0};
          std::vector<int> second_order, third_order;
          std::atomic<int> sum{0};
          const Numbers numbers(kItems);
          tbb::parallel_pipeline(
              tokens, tbb::make_filter<void, int>(first, [&](tbb::flow_control& control) {
                        int i = 0;
                        in_first([&] { i = numbers(control); });
                        if (i < kItems) {
                          const int now = ++alive;
                          if (now > most_alive) most_alive = now;
                        }
                        return i;
                      }) & tbb::make_filter<int, std::string>(second, [&](int i) {
                        in_second([&] {
                          sometimes_wait(i);
                          if (second != filter_mode::parallel) {
                            second_order.push_back(i);
                          }
                        });
                        return std::to_string(i);
                      }) & tbb::make_filter<std::string, void>(third, [&](const std::string& text) {
                        in_third([&] {
                          if (third != filter_mode::parallel)
                            third_order.push_back(std::stoi(text));
                          sum += std::stoi(text);
                        });
                        --alive;
                      }));
          EXPECT_EQ(sum, kItems * (kItems - 1) / 2);
          EXPECT_LE(most_alive, static_cast<int>(tokens));
          std::vector<int> ascending(kItems);
          std::iota(ascending.begin(), ascending.end(), 0);
          const bool is_first_serial = first != filter_mode::parallel;
          if (is_first_serial) {
            EXPECT_EQ(in_first.most(), 1);
          }
          if (second != filter_mode::parallel) {
            EXPECT_EQ(in_second.most(), 1);
          }
          if (third != filter_mode::parallel) {
            EXPECT_EQ(in_third.most(), 1);
          }
          if (is_first_serial && second == filter_mode::serial_in_order) {
            EXPECT_EQ(second_order, ascending);
          }
          if (is_first_serial && third == filter_mode::serial_in_order) {
            EXPECT_EQ(third_order, ascending);
          }
          if (second == filter_mode::serial_in_order && third == filter_mode::serial_in_order) {
            EXPECT_EQ(second_order, third_order);
          }
        }
      }
    }
  }
}

TEST(Pipeline, NothingToDo) {
  int calls = 0;
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, int>(filter_mode::serial_in_order, [](tbb::flow_control& control) {
           control.stop();
           return 1;
         }) & tbb::make_filter<int, void>(filter_mode::parallel, [&](int) { ++calls; }));
  EXPECT_EQ(calls, 0);
}

TEST(Pipeline, OneFilter) {
  for (const filter_mode mode : kModes) {
    std::atomic<int> calls{0};
    tbb::parallel_pipeline(3, tbb::make_filter<void, void>(mode, [&](tbb::flow_control& control) {
                             if (++calls >= 50) control.stop();
                           }));
    EXPECT_GE(calls, 50);
    if (mode != filter_mode::parallel) {
      EXPECT_EQ(calls, 50);
    }
  }
}

// An early item takes long, so that many later ones must wait for it.
TEST(Pipeline, ManyItemsAreReordered) {
  std::vector<int> order;
  std::atomic<bool> others_came{false};
  std::atomic<int> passed{0};
  tbb::parallel_pipeline(
      1000, tbb::make_filter<void, int>(filter_mode::serial_in_order, Numbers(500)) &
                tbb::make_filter<int, int>(filter_mode::parallel,
                                           [&](int i) {
                                             if (i == 0) {
                                               others_came =
                                                   test::wait_for([&] { return passed >= 400; });
                                             }
                                             ++passed;
                                             return i;
                                           }) &
                tbb::make_filter<int, int>(filter_mode::serial_in_order,
                                           [&](int i) {
                                             order.push_back(i);
                                             return i;
                                           }) &
                tbb::make_filter<int, void>(filter_mode::serial_out_of_order, [](int) {}));
  EXPECT_EQ(order.size(), 500U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  if (!others_came) {
    GTEST_SKIP() << "nobody helped";
  }
}

int plus_one(int i) { return i + 1; }

TEST(PipelineFilters, TypesMayBeDeduced) {
  std::atomic<int> sum{0};
  const auto first = tbb::make_filter(filter_mode::serial_in_order,
                                      [n = Numbers(10)](tbb::flow_control& c) { return n(c); });
  const tbb::filter second(filter_mode::parallel, plus_one);
  const auto last = tbb::make_filter(filter_mode::parallel, [&](const int& i) { sum += i; });
  static_assert(std::is_same<decltype(first), const tbb::filter<void, int>>::value, "");
  static_assert(std::is_same<decltype(second), const tbb::filter<int, int>>::value, "");
  static_assert(std::is_same<decltype(last), const tbb::filter<int, void>>::value, "");
  tbb::parallel_pipeline(2, first, second, last);
  EXPECT_EQ(sum, 55);
}

TEST(PipelineFilters, AreValues) {
  const auto make_first = [] {
    return tbb::make_filter<void, int>(filter_mode::serial_in_order, Numbers(10));
  };
  std::atomic<int> sum{0};
  const tbb::filter<int, void> last(filter_mode::parallel, [&](int i) { sum += i; });
  tbb::filter<void, int> chain = make_first();
  chain &= tbb::make_filter<int, int>(filter_mode::parallel, &plus_one);
  tbb::filter<void, void> whole(chain, last);
  tbb::filter<void, void> copy;
  copy = whole;
  chain.clear();
  whole.clear();
  tbb::parallel_pipeline(2, copy);
  EXPECT_EQ(sum, 55);
  tbb::task_group_context context;
  sum = 0;
  tbb::parallel_pipeline(2, make_first(), last, context);
  tbb::parallel_pipeline(2, make_first() & last, context);
  tbb::parallel_pipeline(2, make_first(),
                         tbb::make_filter<int, int>(filter_mode::parallel, &plus_one), last);
  EXPECT_EQ(sum, 45 + 45 + 55);
}

TEST(PipelineFilters, MoveOnlyItems) {
  using Item = std::unique_ptr<int>;
  std::atomic<int> sum{0};
  tbb::parallel_pipeline(
      8,
      tbb::make_filter<void, Item>(filter_mode::serial_in_order, [n = Numbers(1000)](
                                                                     tbb::flow_control& control) {
        return std::make_unique<int>(n(control));
      }) & tbb::make_filter<Item, Item>(filter_mode::parallel, [](Item i) {
        return i;
      }) & tbb::make_filter<Item, Item>(filter_mode::serial_in_order, [](Item& i) {
        return std::move(i);
      }) & tbb::make_filter<Item, void>(filter_mode::parallel, [&](const Item& i) { sum += *i; }));
  EXPECT_EQ(sum, 499500);
}

TEST(PipelineFilters, MemberFunctions) {
  std::size_t sum = 0;
  tbb::parallel_pipeline(
      2, tbb::make_filter<void, std::string>(filter_mode::serial_in_order,
                                             [n = Numbers(10)](tbb::flow_control& control) {
                                               return std::string(
                                                   static_cast<std::size_t>(n(control)), 'x');
                                             }) &
             tbb::make_filter<std::string, std::size_t>(filter_mode::parallel, &std::string::size) &
             tbb::make_filter<std::size_t, void>(filter_mode::serial_in_order,
                                                 [&](std::size_t length) { sum += length; }));
  EXPECT_EQ(sum, 45U);
}

struct alignas(512) Wide {
  int number;
};

TEST(PipelineFilters, OverAlignedItems) {
  std::atomic<int> misplaced{0};
  const auto check = [&](const Wide& w) {
    misplaced += reinterpret_cast<std::uintptr_t>(&w) % alignof(Wide) != 0;
  };
  std::atomic<int> sum{0};
  tbb::parallel_pipeline(
      8,
      tbb::make_filter<void, Wide>(filter_mode::serial_in_order, [n = Numbers(100)](
                                                                     tbb::flow_control& control) {
        return Wide{n(control)};
      }) & tbb::make_filter<Wide, Wide>(filter_mode::parallel, [&](const Wide& w) {
        check(w);
        return w;
      }) & tbb::make_filter<Wide, void>(filter_mode::parallel, [&](Wide& w) {
        check(w);
        sum += w.number;
      }));
  EXPECT_EQ(sum, 4950);
  EXPECT_EQ(misplaced, 0);
}

TEST(PipelineErrors, ItemsAreDestroyedOnceWhereverItThrows) {
  for (const filter_mode mode : kModes) {
    for (int at = 1; at <= 330; at += at < 20 ? 1 : 31) {
      test::Balance balance;
      std::atomic<int> left{at};
      const auto step = [&] {
        if (--left == 0) throw std::runtime_error("here");
      };
      bool thrown = false;
      const Numbers numbers(100);
      try {
        tbb::parallel_pipeline(
            10, tbb::make_filter<void, test::Counted>(filter_mode::serial_in_order,
                                                      [&](tbb::flow_control& control) {
                                                        step();
                                                        const int i = numbers(control);
                                                        sometimes_wait(i);
                                                        return test::Counted(balance);
                                                      }) &
                    tbb::make_filter<test::Counted, test::Counted>(mode,
                                                                   [&](test::Counted item) {
                                                                     step();
                                                                     test::work_a_little();
                                                                     return item;
                                                                   }) &
                    tbb::make_filter<test::Counted, void>(filter_mode::serial_in_order,
                                                          [&](const test::Counted&) { step(); }));
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      EXPECT_EQ(thrown, at <= 301) << at;
      EXPECT_EQ(balance.alive, 0) << at;
    }
  }
}

TEST(PipelineErrors, CancellationEndsIt) {
  test::Balance balance;
  tbb::task_group_context context;
  std::atomic<int> items{0};
  const auto chain = tbb::make_filter<void, test::Counted>(filter_mode::parallel,
                                                           [&](tbb::flow_control&) {
                                                             ++items;
                                                             return test::Counted(balance);
                                                           }) &
                     tbb::make_filter<test::Counted, void>(filter_mode::serial_in_order,
                                                           [&](const test::Counted&) {
                                                             if (items > 100)
                                                               context.cancel_group_execution();
                                                           });
  tbb::parallel_pipeline(10, chain, context);
  EXPECT_EQ(balance.alive, 0);
  EXPECT_GT(items, 100);
  items = 0;
  tbb::parallel_pipeline(10, chain, context);
  EXPECT_EQ(items, 0);
}

TEST(PipelineNested, OneInTheOther) {
  std::atomic<int> sum{0};
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, int>(filter_mode::serial_in_order, Numbers(20)) &
             tbb::make_filter<int, void>(filter_mode::parallel, [&](int) {
               tbb::parallel_pipeline(
                   4, tbb::make_filter<void, int>(filter_mode::serial_in_order, Numbers(20)) &
                          tbb::make_filter<int, void>(filter_mode::serial_in_order,
                                                      [&](int i) { sum += i; }));
             }));
  EXPECT_EQ(sum, 20 * 190);
}

}  // namespace
