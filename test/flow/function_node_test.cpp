// SPDX-License-Identifier: Apache-2.0
// function_node: limits, policies, exceptions.
#include <tbb/flow_graph.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tbb::flow;

// Calls `f` in several threads.
template <typename F>
void in_threads(int count, const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

// A body that counts its concurrent calls.
struct limit_watcher {
  std::atomic<int> inside{0}, most{0}, calls{0};
  int operator()(int value) {
    const int now = ++inside;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) continue;
    ++calls;
    --inside;
    return value;
  }
};

template <typename Policy>
void expect_all_arrive(std::size_t concurrency) {
  graph g;
  limit_watcher watcher;
  function_node<int, int, Policy> node(g, concurrency, [&](int i) { return watcher(i); });
  std::atomic<long> sum{0};
  function_node<int> end(g, unlimited, [&](int i) {
    sum += i;
    return continue_msg();
  });
  make_edge(node, end);
  in_threads(3, [&](int) {
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(node.try_put(1));
  });
  g.wait_for_all();
  EXPECT_EQ(watcher.calls, 9000);
  EXPECT_EQ(sum, 9000);
  if (concurrency != unlimited) {
    EXPECT_LE(watcher.most, int(concurrency));
  }
}

TEST(FunctionNode, QueueingNodesLoseNothing) {
  for (std::size_t n :
       {std::size_t(serial), std::size_t(2), std::size_t(3), std::size_t(unlimited)}) {
    expect_all_arrive<queueing>(n);
    expect_all_arrive<lightweight>(n);
    expect_all_arrive<queueing_lightweight>(n);
  }
}

TEST(FunctionNode, ASerialQueueingNodeKeepsTheOrder) {
  graph g;
  std::vector<int> got;
  function_node<int> node(g, serial, [&](int i) {
    got.push_back(i);
    return continue_msg();
  });
  for (int i = 0; i < 5000; ++i) node.try_put(i);
  g.wait_for_all();
  ASSERT_EQ(got.size(), 5000u);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(got[i], i);
}

TEST(FunctionNode, ARejectingNodeRejectsAboveItsLimit) {
  graph g;
  std::atomic<int> inside{0};
  std::atomic<bool> go{false};
  function_node<int, int, rejecting> node(g, 2, [&](int i) {
    ++inside;
    while (!go) std::this_thread::yield();
    return i;
  });
  EXPECT_TRUE(node.try_put(1));
  EXPECT_TRUE(node.try_put(1));
  EXPECT_FALSE(node.try_put(1));
  go = true;
  g.wait_for_all();
  EXPECT_EQ(inside, 2);
  EXPECT_TRUE(node.try_put(1));
  g.wait_for_all();
}

TEST(FunctionNode, AChainRunsToItsEnd) {
  graph g;
  std::vector<std::unique_ptr<function_node<int, int>>> chain;
  for (int i = 0; i < 1000; ++i) {
    chain.emplace_back(new function_node<int, int>(g, i % 2 == 0 ? serial : unlimited,
                                                   [](int v) { return v + 1; }));
    if (i > 0) make_edge(*chain[i - 1], *chain[i]);
  }
  std::atomic<int> sum{0};
  function_node<int> end(g, unlimited, [&](int v) {
    sum += v;
    return continue_msg();
  });
  make_edge(*chain.back(), end);
  for (int i = 0; i < 10; ++i) chain[0]->try_put(0);
  g.wait_for_all();
  EXPECT_EQ(sum, 10000);
}

TEST(FunctionNode, AnExceptionCancelsTheGraphWhichCanBeUsedAgain) {
  graph g;
  std::atomic<int> calls{0};
  bool throws = true;
  function_node<int, int> node(g, serial, [&](int i) {
    ++calls;
    if (throws && i == 3) throw std::runtime_error("three");
    return i;
  });
  for (int i = 0; i < 10; ++i) node.try_put(i);
  EXPECT_THROW(g.wait_for_all(), std::runtime_error);
  EXPECT_EQ(calls, 4);
  EXPECT_TRUE(g.is_cancelled());
  EXPECT_TRUE(g.exception_thrown());
  throws = false;
  for (int i = 0; i < 10; ++i) node.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(calls, 14);
  EXPECT_FALSE(g.is_cancelled());
  EXPECT_FALSE(g.exception_thrown());
}

struct number {
  int value;
  int doubled() const { return 2 * value; }
};

#if __cplusplus >= 201703L
TEST(FunctionNode, MembersAreBodies) {
  graph g;
  function_node twice(g, unlimited, &number::doubled);
  function_node same(g, unlimited, &number::value, lightweight());
  static_assert(std::is_same_v<decltype(same), function_node<number, int, lightweight>>);
  std::atomic<int> sum{0};
  function_node end(g, unlimited, [&](int v) { sum += v; }, node_priority_t(1));
  static_assert(std::is_same_v<decltype(end), function_node<int, continue_msg>>);
  make_edge(twice, end);
  make_edge(same, end);
  twice.try_put(number{1});
  same.try_put(number{5});
  g.wait_for_all();
  EXPECT_EQ(sum, 7);
}
#endif

struct counting_body {
  int calls = 0;
  int operator()(int i) {
    ++calls;
    return i;
  }
};

TEST(FunctionNode, CopiesOfBodies) {
  graph g;
  function_node<int, int> node(g, serial, counting_body());
  node.try_put(1);
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(copy_body<counting_body>(node).calls, 2);
  function_node<int, int> other(node);
  EXPECT_EQ(copy_body<counting_body>(other).calls, 0);
  g.reset();
  EXPECT_EQ(copy_body<counting_body>(node).calls, 2);
  g.reset(rf_reset_bodies);
  EXPECT_EQ(copy_body<counting_body>(node).calls, 0);
}

TEST(FunctionNode, UrgentMessagesComeFirst) {
  tbb::task_arena one(1);
  one.execute([] {
    graph g;
    std::vector<int> order;
    const auto body = [&](int v) { order.push_back(v); };
    function_node<int> low(g, unlimited, body), middle(g, unlimited, body, node_priority_t(1)),
        high(g, unlimited, body, node_priority_t(2));
    broadcast_node<int> start(g);
    for (int i = 0; i < 3; ++i) {
      low.try_put(0);
      middle.try_put(1);
      high.try_put(2);
    }
    g.wait_for_all();
    EXPECT_EQ(order, (std::vector<int>{2, 2, 2, 1, 1, 1, 0, 0, 0}));
  });
}

TEST(FunctionNode, TryPutAndWaitWaitsForWhatFollows) {
  graph g;
  std::atomic<int> ends{0};
  function_node<int, int> first(g, serial, [](int v) { return v; });
  function_node<int, int> second(g, 2, [](int v) { return v; });
  function_node<int> third(g, unlimited, [&](int) { ++ends; });
  make_edge(first, second);
  make_edge(first, second);
  make_edge(second, third);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(first.try_put_and_wait(i));
    EXPECT_EQ(ends, 2 * i);
  }
}

}  // namespace
