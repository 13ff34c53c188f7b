// SPDX-License-Identifier: Apache-2.0
// continue_node, continue_receiver and broadcast_node.
#include <tbb/flow_graph.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace tbb::flow;
using flow_test::gate;
using node = continue_node<continue_msg>;

// A continue_node may call its body in several threads at the same time.
struct counting_body {
  std::atomic<int>* calls;
  std::atomic<int> own{0};
  explicit counting_body(std::atomic<int>& c) : calls(&c) {}
  counting_body(const counting_body& other) : calls(other.calls), own(other.own.load()) {}
  void operator()(const continue_msg&) {
    ++*calls;
    ++own;
  }
};

TEST(ContinueNode, WithoutPredecessorsEachMessageCounts) {
  graph g;
  std::atomic<int> calls{0};
  node n(g, counting_body(calls));
  for (int i = 1; i <= 10; ++i) {
    EXPECT_TRUE(n.try_put(continue_msg()));
    g.wait_for_all();
    EXPECT_EQ(calls, i);
  }
}

TEST(ContinueNode, WaitsForAllPredecessors) {
  for (int extra = 0; extra < 3; ++extra) {
    for (int edges = 0; edges < 4; ++edges) {
      graph g;
      std::atomic<int> calls{0};
      node n(g, extra, counting_body(calls));
      broadcast_node<continue_msg> before(g);
      for (int i = 0; i < edges; ++i) make_edge(before, n);
      const int needed = extra + edges > 0 ? extra + edges : 1;
      for (int i = 0; i < 3 * needed; ++i) {
        EXPECT_EQ(calls, i / needed);
        n.try_put(continue_msg());
        g.wait_for_all();
      }
      EXPECT_EQ(calls, 3);
    }
  }
}

TEST(ContinueNode, EdgesChangeTheThreshold) {
  graph g;
  std::atomic<int> calls{0};
  node n(g, counting_body(calls));
  broadcast_node<continue_msg> a(g), b(g);
  make_edge(a, n);
  make_edge(b, n);
  a.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 0);
  b.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
  remove_edge(b, n);
  a.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
  b.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
}

TEST(ContinueNode, AGridRunsInOrder) {
  constexpr int kSize = 30;
  graph g;
  std::vector<int> done(kSize * kSize);
  std::vector<std::unique_ptr<node>> nodes;
  for (int i = 0; i < kSize * kSize; ++i) {
    nodes.emplace_back(new node(g, [&done, i](const continue_msg&) {
      if (i % kSize != 0) {
        EXPECT_EQ(done[i - 1], done[i] + 1);
      }
      if (i >= kSize) {
        EXPECT_EQ(done[i - kSize], done[i] + 1);
      }
      ++done[i];
    }));
    if (i % kSize != 0) make_edge(*nodes[i - 1], *nodes[i]);
    if (i >= kSize) make_edge(*nodes[i - kSize], *nodes[i]);
  }
  for (int round = 1; round <= 20; ++round) {
    nodes[0]->try_put(continue_msg());
    g.wait_for_all();
    for (int d : done) ASSERT_EQ(d, round);
  }
}

TEST(ContinueNode, CountsMessagesOfManyThreads) {
  graph g;
  std::atomic<int> calls{0};
  node n(g, 3, counting_body(calls));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) n.try_put(continue_msg());
    });
  }
  for (std::thread& t : threads) t.join();
  g.wait_for_all();
  EXPECT_EQ(calls, 2000);
}

TEST(ContinueNode, ResultsPoliciesAndPriorities) {
  graph g;
  std::atomic<int> sum{0};
  function_node<int> end(g, unlimited, [&](int v) { sum += v; });
  continue_node<int, lightweight> light(g, [](const continue_msg&) noexcept { return 3; });
  continue_node<int> heavy(g, 2, [](const continue_msg&) { return 4; }, node_priority_t(3));
  continue_node<int, lightweight> throwing(
      g, 0, [](const continue_msg&) { return 5; }, lightweight(), 1);
  make_edge(light, end);
  make_edge(heavy, end);
  make_edge(throwing, end);
  broadcast_node<continue_msg> start(g);
  make_edges(start, make_node_set(light, heavy, throwing));
  for (int i = 0; i < 3; ++i) start.try_put(continue_msg());  // heavy counts two more
  g.wait_for_all();
  EXPECT_EQ(sum, 3 * 3 + 3 * 5 + 4);
}

TEST(ContinueNode, ResetAndCopies) {
  graph g;
  std::atomic<int> calls{0};
  node n(g, 2, counting_body(calls));
  n.try_put(continue_msg());
  g.wait_for_all();
  g.reset();  // forgets the message
  n.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 0);
  n.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(copy_body<counting_body>(n).own, 1);
  broadcast_node<continue_msg> before(g);
  make_edge(before, n);
  node copy(n);  // needs two messages, not three
  copy.try_put(continue_msg());
  copy.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
  g.reset(reset_flags(rf_reset_bodies | rf_clear_edges));
  EXPECT_EQ(copy_body<counting_body>(n).own, 0);
  before.try_put(continue_msg());
  n.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
  n.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(calls, 3);
}

TEST(ContinueNode, TryPutAndWaitOfSeveralThreads) {
  graph g;
  std::atomic<int> calls{0};
  broadcast_node<continue_msg> start(g);
  node left(g, [](const continue_msg& m) { return m; }), right(left);
  node both(g, counting_body(calls));
  make_edges(start, make_node_set(left, right));
  make_edges(make_node_set(left, right), both);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const int before = calls;
        EXPECT_TRUE(start.try_put_and_wait(continue_msg()));
        EXPECT_GT(calls, before);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  g.wait_for_all();
  EXPECT_EQ(calls, 900);
}

TEST(ContinueNode, AnExceptionCancelsTheRest) {
  graph g;
  std::atomic<int> calls{0};
  node first(g, [](const continue_msg&) { throw std::runtime_error("first"); });
  node second(g, counting_body(calls));
  make_edge(first, second);
  first.try_put(continue_msg());
  EXPECT_THROW(g.wait_for_all(), std::runtime_error);
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(g.exception_thrown());
}

struct my_receiver : continue_receiver {
  graph& g;
  int executed = 0;
  my_receiver(graph& owner, int predecessors) : continue_receiver(predecessors), g(owner) {}
  my_receiver(const my_receiver&) = default;
  graph_task* execute() override {
    ++executed;
    return nullptr;
  }
  graph& graph_reference() const override { return g; }
};

TEST(ContinueReceiver, ExecutesOnceItHasAllMessages) {
  graph g;
  my_receiver r(g, 1);
  my_receiver copy(r);
  broadcast_node<continue_msg> a(g);
  make_edge(a, r);
  for (int i = 0; i < 10; ++i) a.try_put(continue_msg());
  EXPECT_EQ(r.executed, 5);
  EXPECT_TRUE(copy.try_put(continue_msg()));
  EXPECT_EQ(copy.executed, 1);
}

TEST(BroadcastNode, PassesToAll) {
  graph g;
  std::atomic<int> sum{0};
  broadcast_node<int> start(g);
  const auto add = [&](int v) { sum += v; };
  std::vector<std::unique_ptr<function_node<int>>> ends;
  for (int i = 0; i < 50; ++i) {
    ends.emplace_back(new function_node<int>(g, unlimited, add));
    make_edge(start, *ends.back());
  }
  EXPECT_TRUE(start.try_put(2));
  g.wait_for_all();
  EXPECT_EQ(sum, 100);
  for (int i = 0; i < 50; i += 2) remove_edge(start, *ends[i]);
  EXPECT_TRUE(start.try_put(2));
  g.wait_for_all();
  EXPECT_EQ(sum, 150);
  broadcast_node<int> copy(start);
  EXPECT_TRUE(copy.try_put(1));
  g.reset(rf_clear_edges);
  EXPECT_TRUE(start.try_put(2));
  g.wait_for_all();
  EXPECT_EQ(sum, 150);
}

// While a message is passed on, two successors reject another one, and their edges come back in
// the opposite order.
TEST(BroadcastNode, PassesNothingTwiceOverEdgesThatComeBack) {
  graph g;
  broadcast_node<int> node(g);
  gate<int> first(g, true, true), last(g, true, true);
  struct between : gate<int> {
    using gate<int>::gate;
    graph_task* try_put_task(const int& message) override {
      if (message == 1) meanwhile();
      return gate<int>::try_put_task(message);
    }
    std::function<void()> meanwhile;
  } second(g);
  second.meanwhile = [&] {
    first.close();
    last.close();
    EXPECT_TRUE(node.try_put(2));
    ASSERT_EQ(first.predecessors.size(), 1U);
    ASSERT_EQ(last.predecessors.size(), 1U);
    first.open();
    last.open();
    node.register_successor(last);
    node.register_successor(first);
  };
  make_edge(node, first);
  make_edge(node, second);
  make_edge(node, last);
  EXPECT_TRUE(node.try_put(1));
  EXPECT_TRUE(node.try_put(3));
  g.wait_for_all();
  EXPECT_EQ(first.got, (std::vector<int>{1, 3}));
  EXPECT_EQ(second.got, (std::vector<int>{2, 1, 3}));
  EXPECT_EQ(last.got, (std::vector<int>{1, 3}));
  // An edge that is away can be removed, and its place used.
  first.close();
  EXPECT_TRUE(node.try_put(4));
  remove_edge(node, first);
  gate<int> other(g);
  make_edge(node, other);
  first.open();
  EXPECT_TRUE(node.try_put(5));
  EXPECT_EQ(first.got, (std::vector<int>{1, 3}));
  EXPECT_EQ(other.got, (std::vector<int>{5}));
}

}  // namespace
