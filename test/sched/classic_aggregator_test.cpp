// SPDX-License-Identifier: Apache-2.0
// aggregator and aggregator_ext of TBB 2020.
#define TBB_PREVIEW_AGGREGATOR 1
#include <gtest/gtest.h>
#include <tbb/aggregator.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// Runs f(i) in `n` threads.
template <typename F>
void in_threads(int n, const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST(ClassicAggregator, ExecutesOneBodyAtATime) {
  tbb::aggregator a;
  long sum = 0;
  bool inside = false;
  in_threads(4, [&](int) {
    for (int i = 0; i < 3000; ++i) {
      a.execute([&] {
        EXPECT_FALSE(inside);
        inside = true;
        ++sum;
        inside = false;
      });
    }
  });
  EXPECT_EQ(sum, 12000);
}

TEST(ClassicAggregator, BodyIsDoneOnReturn) {
  tbb::aggregator a;
  in_threads(3, [&](int t) {
    for (int i = 0; i < 1000; ++i) {
      int result = -1;
      a.execute([&result, t, i] { result = t * 1000 + i; });
      ASSERT_EQ(result, t * 1000 + i);
    }
  });
}

TEST(ClassicAggregator, ThrowsWhatTheBodyThrows) {
  tbb::aggregator a;
  std::atomic<int> caught{0};
  int calls = 0;
  in_threads(4, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      try {
        a.execute([&] {
          ++calls;
          if (i % 4 == 0) throw std::runtime_error(std::to_string(t));
        });
        EXPECT_NE(i % 4, 0);
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), std::to_string(t));
        ++caught;
      }
    }
  });
  EXPECT_EQ(calls, 800);
  EXPECT_EQ(caught, 200);
}

// A body that may be called only as an lvalue that is not const.
TEST(ClassicAggregator, CallsACopyOfTheBody) {
  struct Body {
    int* calls;
    void operator()() { ++*calls; }
  };
  tbb::aggregator a;
  int calls = 0;
  const Body body{&calls};
  a.execute(body);
  a.execute(Body{&calls});
  EXPECT_EQ(calls, 2);
}

struct Pop : tbb::aggregator_operation {
  int got = -1;
};

struct Popper {
  std::vector<int>* items;
  void operator()(tbb::aggregator_operation* list) const {
    while (list != nullptr) {
      list->start();
      Pop& op = static_cast<Pop&>(*list);
      list = list->next();
      op.got = items->back();
      items->pop_back();
      op.finish();
    }
  }
};

TEST(ClassicAggregatorExt, HandlesEachOperationOnce) {
  constexpr int kPops = 2000;
  std::vector<int> items;
  for (int i = 0; i < 3 * kPops; ++i) items.push_back(i);
  std::vector<int> seen(items.size());
  tbb::aggregator_ext<Popper> a(Popper{&items});
  in_threads(3, [&](int) {
    for (int i = 0; i < kPops; ++i) {
      Pop op;
      a.process(&op);
      ++seen[std::size_t(op.got)];
    }
  });
  EXPECT_TRUE(items.empty());
  for (const int n : seen) EXPECT_EQ(n, 1);
}

TEST(ClassicAggregatorExt, OperationsCanBeUsedAgain) {
  std::vector<int> items{1, 2, 3};
  tbb::aggregator_ext<Popper> a(Popper{&items});
  Pop op;
  for (int i = 3; i > 0; --i) {
    a.process(&op);
    EXPECT_EQ(op.got, i);
  }
}

TEST(ClassicAggregatorExt, ListsCanBeRelinked) {
  tbb::aggregator_operation a, b;
  EXPECT_EQ(a.next(), nullptr);
  a.set_next(&b);
  EXPECT_EQ(a.next(), &b);
}

}  // namespace
