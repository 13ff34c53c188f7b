// SPDX-License-Identifier: Apache-2.0
// limiter_node.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>

#include <atomic>
#include <climits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;

TEST(LimiterNode, PassesAsManyMessagesAsTheThresholdSays) {
  graph g;
  limiter_node<int> node(g, 3);
  gate<int> successor(g);
  make_edge(node, successor);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(node.try_put(i));
  EXPECT_FALSE(node.try_put(3));
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2})) << "in the calling thread";
  int v;
  EXPECT_FALSE(node.try_get(v));
  EXPECT_TRUE(node.decrementer().try_put(continue_msg()));
  EXPECT_TRUE(node.try_put(4));
  EXPECT_FALSE(node.try_put(5));
  g.wait_for_all();
}

TEST(LimiterNode, AThresholdOfZeroPassesNothing) {
  graph g;
  limiter_node<int> node(g, 0);
  gate<int> successor(g);
  make_edge(node, successor);
  EXPECT_FALSE(node.try_put(0));
  node.decrementer().try_put(continue_msg());
  EXPECT_FALSE(node.try_put(0));
  g.wait_for_all();
}

TEST(LimiterNode, DoesNotCountWhatNoSuccessorAccepts) {
  graph g;
  limiter_node<int> node(g, 1);
  EXPECT_FALSE(node.try_put(0)) << "no successor";
  gate<int> successor(g, false);
  make_edge(node, successor);
  EXPECT_FALSE(node.try_put(1));
  successor.open();
  EXPECT_TRUE(node.try_put(2));
  EXPECT_FALSE(node.try_put(3));
  g.wait_for_all();
}

TEST(LimiterNode, IntegersChangeTheCountByTheirValue) {
  graph g;
  limiter_node<int, int> node(g, 5);
  gate<int> successor(g);
  make_edge(node, successor);
  const auto room = [&] {
    int n = 0;
    while (node.try_put(n)) ++n;
    return n;
  };
  EXPECT_EQ(room(), 5);
  node.decrementer().try_put(2);
  EXPECT_EQ(room(), 2);
  node.decrementer().try_put(100);
  EXPECT_EQ(room(), 5) << "the count does not fall below 0";
  node.decrementer().try_put(4);
  node.decrementer().try_put(-1);
  EXPECT_EQ(room(), 3);
  node.decrementer().try_put(5);
  node.decrementer().try_put(INT_MIN);
  EXPECT_EQ(room(), 0) << "the count does not rise above the threshold";
  node.decrementer().try_put(0);
  EXPECT_EQ(room(), 0);
  g.wait_for_all();
}

TEST(LimiterNode, TakesDecrementsOfAllIntegralTypes) {
  graph g;
  limiter_node<int, unsigned long long> a(g, 5);
  limiter_node<int, signed char> b(g, 5);
  gate<int> successor(g);
  make_edge(a, successor);
  make_edge(b, successor);
  for (int i = 0; i < 5; ++i) {
    a.try_put(i);
    b.try_put(i);
  }
  a.decrementer().try_put(ULLONG_MAX);
  b.decrementer().try_put(SCHAR_MAX);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(a.try_put(i));
    EXPECT_TRUE(b.try_put(i));
  }
  b.decrementer().try_put(3);
  b.decrementer().try_put(SCHAR_MIN);
  EXPECT_FALSE(b.try_put(0));
  g.wait_for_all();
}

TEST(LimiterNode, HasTheDecrementerOfTbb2020) {
  graph g;
  limiter_node<int> node(g, 1);
  limiter_node<int> two(g, 1, 2);
  gate<int> successor(g);
  make_edge(node, successor);
  make_edge(two, successor);
  node.try_put(0);
  node.decrement.try_put(continue_msg());
  EXPECT_TRUE(node.try_put(1));
  two.try_put(0);
  two.decrement.try_put(continue_msg());
  EXPECT_FALSE(two.try_put(1)) << "waits for two predecessors";
  two.decrement.try_put(continue_msg());
  EXPECT_TRUE(two.try_put(1));
  g.wait_for_all();
}

TEST(LimiterNode, PullsWhatItHasRejected) {
  graph g;
  queue_node<int> from(g);
  limiter_node<int> node(g, 2);
  gate<int> successor(g);
  make_edge(from, node);
  make_edge(node, successor);
  for (int i = 0; i < 5; ++i) from.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1}));
  node.decrementer().try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2}));
  node.decrementer().try_put(continue_msg());
  node.decrementer().try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2, 3, 4}));
  node.decrementer().try_put(continue_msg());
  from.try_put(5);
  g.wait_for_all();
  EXPECT_EQ(successor.got.back(), 5) << "the edge pushes again";
}

TEST(LimiterNode, AMessageThatSuccessorsRejectStaysWithThePredecessor) {
  graph g;
  queue_node<int> from(g);
  limiter_node<int> node(g, 2);
  gate<int> successor(g, false);
  make_edge(from, node);
  make_edge(node, successor);
  from.try_put(7);
  g.wait_for_all();
  int v;
  EXPECT_TRUE(from.try_get(v));
  EXPECT_EQ(v, 7);
}

TEST(LimiterNode, ANewSuccessorGetsWhatWaits) {
  graph g;
  queue_node<int> from(g);
  limiter_node<int> node(g, 2);
  make_edge(from, node);
  for (int i = 0; i < 3; ++i) from.try_put(i);
  g.wait_for_all();
  gate<int> successor(g);
  make_edge(node, successor);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1}));
}

template <typename Limiter, typename Message>
void expect_limited_cycle(std::size_t threshold, const Message& decrement) {
  graph g;
  constexpr int kMessages = 3000;
  int next = 0;
  input_node<int> input(g, [&](tbb::flow_control& control) {
    if (next == kMessages) control.stop();
    return next++;
  });
  std::atomic<int> inside{0}, most{0};
  std::vector<std::atomic<int>> seen(kMessages);
  Limiter limit(g, threshold);
  function_node<int, Message> work(g, unlimited, [&](int v) {
    const int now = ++inside;
    int max = most;
    while (max < now && !most.compare_exchange_weak(max, now)) continue;
    ++seen[std::size_t(v)];
    --inside;
    return decrement;
  });
  make_edge(input, limit);
  make_edge(limit, work);
  make_edge(work, limit.decrementer());
  input.activate();
  g.wait_for_all();
  for (auto& s : seen) ASSERT_EQ(s, 1);
  EXPECT_LE(most, int(threshold));
}

TEST(LimiterNode, LimitsACycle) {
  for (std::size_t threshold : {1, 2, 7}) {
    expect_limited_cycle<limiter_node<int>>(threshold, continue_msg());
    expect_limited_cycle<limiter_node<int, int>>(threshold, 1);
  }
}

TEST(LimiterNode, ADecrementBeforeThePutReturnsCounts) {
  graph g;
  limiter_node<int> limit(g, 1);
  std::atomic<int> calls{0};
  function_node<int, continue_msg, lightweight> work(g, unlimited, [&](int) noexcept {
    ++calls;
    return continue_msg();
  });
  make_edge(limit, work);
  make_edge(work, limit.decrementer());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limit.try_put(i));
  g.wait_for_all();
  EXPECT_EQ(calls, 100);
}

TEST(LimiterNode, ManyThreadsPutAndDecrement) {
  graph g;
  queue_node<int> from(g);
  limiter_node<int> limit(g, 3);
  constexpr int kThreads = 3, kEach = 2000;
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  function_node<int> work(g, unlimited, [&](int v) {
    ++seen[std::size_t(v)];
    return continue_msg();
  });
  make_edge(from, limit);
  make_edge(limit, work);
  make_edge(work, limit.decrementer());
  in_threads(kThreads, [&](int t) {
    for (int i = 0; i < kEach; ++i) from.try_put(i * kThreads + t);
    g.wait_for_all();
  });
  g.wait_for_all();
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i;
}

TEST(LimiterNode, SeveralPredecessors) {
  graph g;
  queue_node<int> a(g), b(g);
  limiter_node<int> limit(g, 1);
  std::atomic<int> calls{0};
  function_node<int> work(g, serial, [&](int) {
    ++calls;
    return continue_msg();
  });
  make_edge(a, limit);
  make_edge(b, limit);
  make_edge(limit, work);
  make_edge(work, limit.decrementer());
  for (int i = 0; i < 1000; ++i) {
    a.try_put(i);
    b.try_put(i);
  }
  g.wait_for_all();
  EXPECT_EQ(calls, 2000);
}

TEST(LimiterNode, ACopyHasTheThresholdAndNothingElse) {
  graph g;
  limiter_node<int> node(g, 2);
  gate<int> successor(g);
  make_edge(node, successor);
  node.try_put(0);
  limiter_node<int> copy(node);
  EXPECT_FALSE(copy.try_put(0)) << "no successor";
  make_edge(copy, successor);
  EXPECT_TRUE(copy.try_put(1));
  EXPECT_TRUE(copy.try_put(2));
  EXPECT_FALSE(copy.try_put(3));
  g.wait_for_all();
}

TEST(LimiterNode, ResetSetsTheCountToZero) {
  graph g;
  queue_node<int> from(g);
  limiter_node<int> node(g, 1);
  gate<int> successor(g);
  make_edge(from, node);
  make_edge(node, successor);
  from.try_put(0);
  from.try_put(1);
  g.wait_for_all();
  g.reset();
  from.try_put(2);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 2}));
  g.reset(rf_clear_edges);
  EXPECT_FALSE(node.try_put(3));
  from.try_put(4);
  g.wait_for_all();
  int v;
  EXPECT_TRUE(from.try_get(v));
}

TEST(LimiterNode, AnExceptionOfASuccessorIsNotCounted) {
  graph g;
  {
    limiter_node<counted> node(g, 1);
    queue_node<counted> successor(g);
    make_edge(node, successor);
    counted message(1);
    counted::until_throw() = 0;
    EXPECT_THROW(node.try_put(message), std::runtime_error);
    counted::until_throw() = -1;
    EXPECT_TRUE(node.try_put(message));
    g.wait_for_all();
  }
  EXPECT_EQ(counted::alive(), 0);
}

TEST(LimiterNode, AnExceptionDuringAPullKeepsTheMessage) {
  graph g;
  {
    queue_node<counted> from(g), to(g);
    limiter_node<counted> node(g, 1);
    make_edge(from, node);
    make_edge(node, to);
    from.try_put(counted(1));
    from.try_put(counted(2));
    g.wait_for_all();
    counted::until_throw() = 1;
    node.decrementer().try_put(continue_msg());
    EXPECT_THROW(g.wait_for_all(), std::runtime_error);
    counted::until_throw() = -1;
    // The message stays, or the edge, which pushes again, has passed it on before the graph was
    // cancelled.
    std::vector<int> kept;
    for (const counted& c : take_all<counted>(to)) kept.push_back(c.value);
    for (const counted& c : take_all<counted>(from)) kept.push_back(c.value);
    EXPECT_EQ(kept, (std::vector<int>{1, 2}));
  }
  EXPECT_EQ(counted::alive(), 0);
}

TEST(LimiterNode, TryPutAndWait) {
  graph g;
  limiter_node<int> limit(g, 2);
  std::atomic<int> calls{0};
  function_node<int> work(g, serial, [&](int) {
    ++calls;
    return continue_msg();
  });
  make_edge(limit, work);
  make_edge(work, limit.decrementer());
  for (int i = 1; i <= 20; ++i) {
    EXPECT_TRUE(limit.try_put_and_wait(i));
    EXPECT_EQ(calls, i);
  }
  g.wait_for_all();
}

TEST(LimiterNode, FollowsAndPrecedes) {
  graph g;
  broadcast_node<int> before(g);
  gate<int> after(g);
  limiter_node<int> node(follows(before), 2);
  make_edge(node, after);
  limiter_node<int> first(precedes(before), 1);
  EXPECT_TRUE(first.try_put(0));
  EXPECT_FALSE(first.try_put(0));
  EXPECT_EQ(after.got.size(), 1u);
  g.wait_for_all();
}

}  // namespace
