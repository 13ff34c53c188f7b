// SPDX-License-Identifier: Apache-2.0
// thread_bound_filter of TBB 2020: filters of a pipeline that the program's own thread calls.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/pipeline.h>
#include <tbb/task.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "helped.hpp"

namespace {

using Bound = tbb::thread_bound_filter;
using Function = std::function<void*(void*)>;

void* item(long n) { return reinterpret_cast<void*>(std::intptr_t(n)); }
long number(void* p) { return long(reinterpret_cast<std::intptr_t>(p)); }

class Plain : public tbb::filter {
 public:
  Plain(tbb::filter::mode m, Function f) : filter(m), f_(std::move(f)) {}
  void* operator()(void* p) override { return f_(p); }
  void finalize(void*) override { ++finalized; }
  std::atomic<int> finalized{0};

 private:
  const Function f_;
};

class MyThreads : public Bound {
 public:
  MyThreads(tbb::filter::mode m, Function f) : thread_bound_filter(m), f_(std::move(f)) {}
  void* operator()(void* p) override {
    EXPECT_EQ(std::this_thread::get_id(), owner);
    return f_(p);
  }
  void finalize(void*) override { ++finalized; }
  const std::thread::id owner = std::this_thread::get_id();
  std::atomic<int> finalized{0};

 private:
  const Function f_;
};

Function counts_to(long n) {
  return [n, next = std::make_shared<std::atomic<long>>(0)](void*) {
    const long i = ++*next;
    return i <= n ? item(i) : nullptr;
  };
}

constexpr tbb::filter::mode kSerial[] = {tbb::filter::serial_in_order,
                                         tbb::filter::serial_out_of_order};

// Returns how many items the filter has processed.
long serve(Bound& filter) {
  long n = 0;
  while (filter.process_item() == Bound::success) ++n;
  return n;
}

TEST(ClassicBoundFilter, Last) {
  for (const auto mode : kSerial) {
    for (const std::size_t tokens : {1, 4}) {
      Plain first(tbb::filter::serial, counts_to(500));
      Plain middle(tbb::filter::parallel, [](void* p) {
        if (number(p) % 50 == 0) test::work_a_little();
        return item(number(p) * 2);
      });
      std::vector<long> seen;
      MyThreads last(mode, [&](void* p) {
        seen.push_back(number(p));
        return nullptr;
      });
      tbb::pipeline p;
      p.add_filter(first);
      p.add_filter(middle);
      p.add_filter(last);
      std::thread runner([&] { p.run(tokens); });
      EXPECT_EQ(serve(last), 500);
      EXPECT_EQ(last.process_item(), Bound::end_of_stream);
      runner.join();
      EXPECT_EQ(last.try_process_item(), Bound::end_of_stream);
      EXPECT_EQ(seen.size(), 500u);
      if (mode == tbb::filter::serial_in_order) {
        for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], long(i + 1) * 2);
      }
    }
  }
}

TEST(ClassicBoundFilter, First) {
  for (const auto mode : kSerial) {
    MyThreads first(mode, counts_to(300));
    std::atomic<long> sum{0};
    Plain last(tbb::filter::parallel, [&](void* p) {
      sum += number(p);
      return nullptr;
    });
    tbb::pipeline p;
    p.add_filter(first);
    p.add_filter(last);
    std::thread runner([&] { p.run(3); });
    EXPECT_EQ(serve(first), 300);
    runner.join();
    EXPECT_EQ(sum, 300 * 301 / 2);
  }
}

TEST(ClassicBoundFilter, OneThreadServesTwo) {
  MyThreads first(tbb::filter::serial, counts_to(200));
  Plain middle(tbb::filter::serial_in_order, [](void* p) { return p; });
  long sum = 0;
  MyThreads last(tbb::filter::serial, [&](void* p) {
    sum += number(p);
    return nullptr;
  });
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(middle);
  p.add_filter(last);
  EXPECT_EQ(first.try_process_item(), Bound::item_not_available) << "the pipeline does not run";
  std::thread runner([&] { p.run(2); });
  for (bool more = true; more;) {
    if (first.try_process_item() == Bound::item_not_available) std::this_thread::yield();
    const Bound::result_type result = last.try_process_item();
    if (result == Bound::item_not_available) std::this_thread::yield();
    more = result != Bound::end_of_stream;
  }
  runner.join();
  EXPECT_EQ(sum, 200 * 201 / 2);
}

// Every filter is bound, each to a thread of its own.
TEST(ClassicBoundFilter, All) {
  std::atomic<long> sum{0};
  std::vector<std::thread> servers;
  std::atomic<MyThreads*> filters[3] = {};
  std::atomic<bool> go{false};
  const Function functions[3] = {counts_to(200), [](void* p) { return item(number(p) + 1); },
                                 [&](void* p) {
                                   sum += number(p);
                                   return nullptr;
                                 }};
  for (int i = 0; i < 3; ++i) {
    servers.emplace_back([&, i] {
      MyThreads filter(tbb::filter::serial, functions[i]);
      filters[i] = &filter;
      serve(filter);
      while (!go) std::this_thread::yield();
    });
  }
  {
    tbb::pipeline p;
    for (auto& f : filters) {
      while (f == nullptr) std::this_thread::yield();
      p.add_filter(*f);
    }
    p.run(4);
  }
  go = true;
  for (std::thread& t : servers) t.join();
  EXPECT_EQ(sum, 200 * 201 / 2 + 200);
}

TEST(ClassicBoundFilter, ItsExceptionIsThrownByRun) {
  Plain first(tbb::filter::serial, counts_to(1000));
  MyThreads last(tbb::filter::serial, [](void* p) -> void* {
    if (number(p) == 20) throw std::runtime_error("bound");
    return nullptr;
  });
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(last);
  std::thread runner([&] { EXPECT_THROW(p.run(4), std::runtime_error); });
  EXPECT_EQ(serve(last), 19);
  runner.join();
  EXPECT_LE(last.finalized, 3);
}

// Another filter throws while the bound one has an item: run ends although no thread serves it.
TEST(ClassicBoundFilter, AnotherFilterThrows) {
  Plain first(tbb::filter::serial, counts_to(1000));
  std::atomic<bool> has_passed{false};
  Plain middle(tbb::filter::parallel, [&](void* p) {
    if (number(p) != 1) {
      while (!has_passed) std::this_thread::yield();
      throw std::runtime_error("middle");
    }
    has_passed = true;
    return p;
  });
  MyThreads last(tbb::filter::serial, [](void*) { return nullptr; });
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(middle);
  p.add_filter(last);
  std::thread runner([&] { EXPECT_THROW(p.run(2), std::runtime_error); });
  runner.join();
  EXPECT_EQ(last.process_item(), Bound::end_of_stream);
  EXPECT_EQ(last.finalized, 1);
}

// The pipeline is cancelled while the thread is in a bound filter, whose result has nowhere to go.
TEST(ClassicBoundFilter, ItsItemIsFinalizedIfItIsCancelledMeanwhile) {
  for (const bool throws : {false, true}) {
    std::atomic<bool> in_bound{false};
    tbb::task_group_context context;
    Plain first(tbb::filter::serial, [&, next = 0](void*) mutable {
      if (++next == 1) return item(1);
      test::wait_for([&] { return in_bound.load(); });
      if (throws) throw std::runtime_error("first");
      context.cancel_group_execution();
      return item(0);
    });
    MyThreads bound(tbb::filter::serial, [&](void* p) {
      in_bound = true;
      EXPECT_TRUE(test::wait_for([&] { return context.is_group_execution_cancelled(); }));
      return p;
    });
    Plain last(tbb::filter::parallel, [](void*) -> void* {
      ADD_FAILURE() << "called although the pipeline is cancelled";
      return nullptr;
    });
    tbb::pipeline p;
    p.add_filter(first);
    p.add_filter(bound);
    p.add_filter(last);
    std::thread runner([&] {
      try {
        p.run(2, context);
        EXPECT_FALSE(throws);
      } catch (const std::runtime_error&) {
        EXPECT_TRUE(throws);
      }
    });
    EXPECT_EQ(serve(bound), 1);
    runner.join();
    EXPECT_EQ(bound.finalized, 0);
    EXPECT_EQ(last.finalized, 1);
  }
}

// The same if the bound filter is the first, which makes the item, or the last, which uses it up.
TEST(ClassicBoundFilter, CancelsThePipelineItself) {
  for (const bool is_first : {true, false}) {
    tbb::task_group_context context;
    MyThreads bound(tbb::filter::serial, [&](void*) {
      context.cancel_group_execution();
      return item(1);
    });
    Plain other(tbb::filter::serial, [](void*) { return item(1); });
    tbb::pipeline p;
    p.add_filter(is_first ? static_cast<tbb::filter&>(bound) : other);
    p.add_filter(is_first ? static_cast<tbb::filter&>(other) : bound);
    std::thread runner([&] { p.run(1, context); });
    EXPECT_EQ(serve(bound), 1);
    runner.join();
    EXPECT_EQ(bound.finalized, 0);
    EXPECT_EQ(other.finalized, is_first ? 1 : 0);
  }
}

// A run that cannot begin ends the stream all the same.
TEST(ClassicBoundFilter, ACancelledContext) {
  Plain first(tbb::filter::serial, counts_to(10));
  MyThreads last(tbb::filter::serial, [](void*) { return nullptr; });
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(last);
  tbb::task_group_context context;
  context.cancel_group_execution();
  p.run(2, context);
  ASSERT_EQ(last.try_process_item(), Bound::end_of_stream);
  EXPECT_EQ(last.process_item(), Bound::end_of_stream);
}

TEST(ClassicBoundFilter, RunInACancelledTask) {
  Plain first(tbb::filter::serial, counts_to(10));
  MyThreads last(tbb::filter::serial, [](void*) { return nullptr; });
  tbb::pipeline p;
  p.add_filter(first);
  p.add_filter(last);
  tbb::parallel_invoke(
      [&] {
        tbb::task::self().cancel_group_execution();
        p.run(2);
      },
      [] {});
  EXPECT_EQ(last.try_process_item(), Bound::end_of_stream);
}

TEST(ClassicBoundFilter, RunsAgain) {
  long sum = 0;
  MyThreads last(tbb::filter::serial, [&](void* p) {
    sum += number(p);
    return nullptr;
  });
  for (int i = 0; i < 20; ++i) {
    Plain first(tbb::filter::serial, counts_to(10));
    tbb::pipeline p;
    p.add_filter(first);
    p.add_filter(last);
    std::atomic<bool> ended{false};
    std::thread runner([&] {
      p.run(2);
      ended = true;
    });
    // end_of_stream may still be that of the last run.
    while (!ended) last.try_process_item();
    runner.join();
    p.clear();
  }
  EXPECT_EQ(sum, 20 * 55);
}

}  // namespace
