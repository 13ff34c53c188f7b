// SPDX-License-Identifier: Apache-2.0
// join_node; for key_matching see also key_matching_join_test.cpp.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;
using pair = std::tuple<int, int>;

// ---- queueing

TEST(QueueingJoin, PairsMessagesInTheirOrder) {
  graph g;
  join_node<pair> node(g);
  gate<pair> successor(g);
  make_edge(node, successor);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(input_port<0>(node).try_put(i));
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(input_port<1>(node).try_put(10 + i));
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<pair>{pair(0, 10), pair(1, 11), pair(2, 12), pair(3, 13)}));
  pair v;
  EXPECT_FALSE(node.try_get(v));
  std::get<1>(node.input_ports()).try_put(14);
  g.wait_for_all();
  EXPECT_EQ(successor.got.back(), pair(4, 14));
}

TEST(QueueingJoin, KeepsTuplesThatNoSuccessorAccepts) {
  graph g;
  join_node<pair, queueing> node(g);
  gate<pair> closed(g, false);
  make_edge(node, closed);
  for (int i = 0; i < 3; ++i) {
    input_port<1>(node).try_put(i);
    input_port<0>(node).try_put(i);
  }
  g.wait_for_all();
  EXPECT_GT(closed.offered, 0);
  EXPECT_EQ(take_all<pair>(node), (std::vector<pair>{pair(0, 0), pair(1, 1), pair(2, 2)}));
}

TEST(QueueingJoin, BroadcastsToAllSuccessors) {
  graph g;
  join_node<pair> node(g);
  gate<pair> a(g), b(g), closed(g, false);
  make_edge(node, a);
  make_edge(node, closed);
  make_edge(node, b);
  input_port<0>(node).try_put(1);
  input_port<1>(node).try_put(2);
  g.wait_for_all();
  EXPECT_EQ(a.got.size(), 1u);
  EXPECT_EQ(b.got.size(), 1u);
  pair v;
  EXPECT_FALSE(node.try_get(v)) << "one successor is enough";
}

struct move_watcher {
  std::string text;
};

TEST(QueueingJoin, HasAnyNumberOfPorts) {
  graph g;
  join_node<std::tuple<int>> one(g);
  input_port<0>(one).try_put(1);
  std::tuple<int> v1;
  EXPECT_TRUE(one.try_get(v1));
  using twelve = std::tuple<int, char, long, float, double, std::string, int, short, unsigned, bool,
                            move_watcher, int>;
  join_node<twelve> node(g);
  input_port<0>(node).try_put(0);
  input_port<1>(node).try_put('b');
  input_port<2>(node).try_put(2);
  input_port<3>(node).try_put(3);
  input_port<4>(node).try_put(4);
  input_port<5>(node).try_put("five");
  input_port<6>(node).try_put(6);
  input_port<7>(node).try_put(7);
  input_port<8>(node).try_put(8);
  input_port<9>(node).try_put(true);
  input_port<10>(node).try_put({"ten"});
  twelve v;
  EXPECT_FALSE(node.try_get(v));
  input_port<11>(node).try_put(11);
  ASSERT_TRUE(node.try_get(v));
  EXPECT_EQ(std::get<5>(v), "five");
  EXPECT_EQ(std::get<10>(v).text, "ten");
  EXPECT_EQ(std::get<11>(v), 11);
  EXPECT_FALSE(node.try_get(v));
}

TEST(QueueingJoin, ThreadsPutToThePorts) {
  graph g;
  join_node<pair> node(g);
  expect_pairs_from_threads(g, node);
}

TEST(QueueingJoin, ThreadsGetTuples) {
  graph g;
  join_node<pair> node(g);
  std::atomic<int> left{3000};
  in_threads(4, [&](int t) {
    if (t < 2) {
      for (int i = 0; i < 3000; ++i) {
        t == 0 ? input_port<0>(node).try_put(i) : input_port<1>(node).try_put(i);
      }
      return;
    }
    pair v;
    while (left > 0) {
      if (!node.try_get(v)) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(std::get<0>(v), std::get<1>(v));
      --left;
    }
  });
  EXPECT_EQ(left, 0);
}

TEST(QueueingJoin, CopyAndReset) {
  graph g;
  join_node<pair> node(g);
  gate<pair> successor(g);
  make_edge(node, successor);
  input_port<0>(node).try_put(1);
  join_node<pair> copy(node);
  input_port<1>(copy).try_put(1);
  pair v;
  EXPECT_FALSE(copy.try_get(v));
  g.wait_for_all();
  g.reset();
  input_port<1>(node).try_put(2);
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty()) << "the message of port 0 is gone";
  input_port<0>(node).try_put(2);
  g.wait_for_all();
  EXPECT_EQ(successor.got, std::vector<pair>{pair(2, 2)});
  g.reset(rf_clear_edges);
  input_port<0>(node).try_put(3);
  input_port<1>(node).try_put(3);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 1u);
  EXPECT_TRUE(node.try_get(v));
}

TEST(QueueingJoin, ACopyThatThrowsDoesNotAddTheMessage) {
  using counted_pair = std::tuple<counted, counted>;
  {
    graph g;
    join_node<counted_pair> node(g);
    counted message(4);
    counted::until_throw() = 0;
    EXPECT_THROW(input_port<0>(node).try_put(message), std::runtime_error);
    counted::until_throw() = -1;
    input_port<1>(node).try_put(message);
    counted_pair v;
    EXPECT_FALSE(node.try_get(v));
    input_port<0>(node).try_put(message);
    counted::until_throw() = 1;
    EXPECT_THROW(node.try_get(v), std::runtime_error);
    counted::until_throw() = -1;
    ASSERT_TRUE(node.try_get(v)) << "the tuple stays";
    EXPECT_EQ(std::get<0>(v).value, 4);
  }
  EXPECT_EQ(counted::alive(), 0);
}

// ---- reserving

TEST(ReservingJoin, PortsRejectMessages) {
  graph g;
  join_node<pair, reserving> node(g);
  EXPECT_FALSE(input_port<0>(node).try_put(1));
  EXPECT_FALSE(input_port<1>(node).try_put(1));
  pair v;
  EXPECT_FALSE(node.try_get(v));
}

TEST(ReservingJoin, TakesMessagesOnlyWhenAllPortsHaveOne) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> node(g);
  gate<pair> successor(g);
  make_edge(a, input_port<0>(node));
  make_edge(b, input_port<1>(node));
  make_edge(node, successor);
  for (int i = 0; i < 3; ++i) a.try_put(i);
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  int v;
  EXPECT_TRUE(a.try_get(v)) << "the messages are still there";
  for (int i = 0; i < 2; ++i) b.try_put(10 + i);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<pair>{pair(1, 10), pair(2, 11)}));
  b.try_put(12);
  g.wait_for_all();
  EXPECT_TRUE(b.try_get(v)) << "not reserved while port 0 has none";
  a.try_put(5);
  b.try_put(15);
  g.wait_for_all();
  EXPECT_EQ(successor.got.back(), pair(5, 15));
}

TEST(ReservingJoin, ReleasesWhatNoSuccessorAccepts) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> node(g);
  gate<pair> closed(g, false);
  make_edge(a, input_port<0>(node));
  make_edge(b, input_port<1>(node));
  make_edge(node, closed);
  a.try_put(1);
  b.try_put(2);
  g.wait_for_all();
  EXPECT_GT(closed.offered, 0);
  int v;
  EXPECT_TRUE(a.try_get(v));
  EXPECT_TRUE(b.try_get(v));
}

TEST(ReservingJoin, CanBePulled) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> node(g);
  make_edge(a, input_port<0>(node));
  make_edge(b, input_port<1>(node));
  a.try_put(1);
  g.wait_for_all();
  pair v;
  EXPECT_FALSE(node.try_get(v));
  b.try_put(2);
  g.wait_for_all();
  ASSERT_TRUE(node.try_get(v));
  EXPECT_EQ(v, pair(1, 2));
  EXPECT_FALSE(node.try_get(v));
}

TEST(ReservingJoin, ARejectingSuccessorPulls) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> node(g);
  std::atomic<int> calls{0};
  function_node<pair, continue_msg, rejecting> end(g, serial, [&](const pair& p) {
    EXPECT_EQ(std::get<0>(p), std::get<1>(p));
    ++calls;
    return continue_msg();
  });
  make_edge(a, input_port<0>(node));
  make_edge(b, input_port<1>(node));
  make_edge(node, end);
  in_threads(2, [&](int t) {
    for (int i = 0; i < 2000; ++i) (t == 0 ? a : b).try_put(i);
    g.wait_for_all();
  });
  g.wait_for_all();
  EXPECT_EQ(calls, 2000);
}

TEST(ReservingJoin, TwoJoinsShareThePredecessors) {
  graph g;
  buffer_node<int> a(g), b(g);
  join_node<pair, reserving> first(g), second(g);
  std::atomic<int> calls{0};
  std::atomic<long> sum{0};
  const auto body = [&](const pair& p) {
    ++calls;
    sum += std::get<0>(p) + std::get<1>(p);
    return continue_msg();
  };
  function_node<pair> x(g, serial, body), y(g, unlimited, body);
  make_edge(a, input_port<0>(first));
  make_edge(b, input_port<1>(first));
  make_edge(b, input_port<0>(second));
  make_edge(a, input_port<1>(second));
  make_edge(first, x);
  make_edge(second, y);
  in_threads(2, [&](int t) {
    for (int i = 0; i < 1500; ++i) (t == 0 ? a : b).try_put(i);
    g.wait_for_all();
  });
  g.wait_for_all();
  EXPECT_EQ(calls, 1500);
  EXPECT_EQ(sum, 1499L * 1500);
}

TEST(ReservingJoin, WorksWithSingleValues) {
  graph g;
  write_once_node<int> once(g);
  queue_node<int> each(g);
  join_node<pair, reserving> node(g);
  gate<pair> successor(g);
  make_edge(once, input_port<0>(node));
  make_edge(each, input_port<1>(node));
  make_edge(node, successor);
  for (int i = 0; i < 5; ++i) each.try_put(i);
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  once.try_put(7);
  g.wait_for_all();
  ASSERT_EQ(successor.got.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(successor.got[std::size_t(i)], pair(7, i));
}

TEST(ReservingJoin, ResetMakesEdgesPushAgain) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> node(g);
  gate<pair> successor(g);
  make_edge(a, input_port<0>(node));
  make_edge(b, input_port<1>(node));
  make_edge(node, successor);
  a.try_put(1);
  g.wait_for_all();
  g.reset();
  b.try_put(2);
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  a.try_put(3);
  g.wait_for_all();
  EXPECT_EQ(successor.got, std::vector<pair>{pair(3, 2)});
  a.try_put(4);
  g.wait_for_all();
  g.reset(rf_clear_edges);
  a.try_put(5);
  b.try_put(5);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 1u);
}

TEST(ReservingJoin, ACopyThatThrowsReleasesEverything) {
  using counted_pair = std::tuple<counted, counted>;
  {
    graph g;
    queue_node<counted> a(g), b(g);
    join_node<counted_pair, reserving> node(g);
    make_edge(a, input_port<0>(node));
    make_edge(b, input_port<1>(node));
    a.try_put(counted(1));
    b.try_put(counted(2));
    g.wait_for_all();
    counted_pair v;
    counted::until_throw() = 1;
    EXPECT_THROW(node.try_get(v), std::runtime_error);
    counted::until_throw() = -1;
    g.wait_for_all();
    ASSERT_TRUE(node.try_get(v));
    EXPECT_EQ(std::get<1>(v).value, 2);
  }
  EXPECT_EQ(counted::alive(), 0);
}

// ---- all

TEST(JoinNodes, AreDeduced) {
#if defined(__cpp_deduction_guides)
  graph g;
  broadcast_node<int> a(g);
  broadcast_node<float> b(g);
  join_node by_key(g, [](int i) { return i; }, [](const float& f) { return int(f); });
  static_assert(
      std::is_same<decltype(by_key), join_node<std::tuple<int, float>, key_matching<int>>>::value,
      "");
  join_node following(follows(a, b), queueing());
  static_assert(std::is_same<decltype(following), join_node<std::tuple<int, float>>>::value, "");
  join_node following2(follows(a, b));
  gate<std::tuple<int, float>> end(g);
  make_edge(following, end);
  a.try_put(1);
  b.try_put(2.f);
  g.wait_for_all();
  EXPECT_EQ(end.got.size(), 1u);
  queue_node<pair> after(g);
  join_node preceding(precedes(after), reserving());
  static_assert(std::is_same<decltype(preceding), join_node<pair, reserving>>::value, "");
#endif
}

TEST(JoinNodes, TryPutAndWait) {
  graph g;
  join_node<pair> node(g);
  std::atomic<int> calls{0};
  function_node<pair> end(g, unlimited, [&](const pair&) { ++calls; });
  make_edge(node, end);
  for (int i = 1; i < 10; ++i) {
    input_port<0>(node).try_put(i);
    EXPECT_TRUE(input_port<1>(node).try_put_and_wait(i));
    EXPECT_EQ(calls, i);
  }
  join_node<pair, tag_matching> keyed(
      g, [](int i) { return tag_value(i); }, [](int i) { return tag_value(i); });
  make_edge(keyed, end);
  calls = 0;
  for (int i = 1; i < 10; ++i) {
    input_port<0>(keyed).try_put(i);
    EXPECT_TRUE(input_port<1>(keyed).try_put_and_wait(i));
    EXPECT_EQ(calls, i);
  }
  g.wait_for_all();
}

TEST(JoinNodes, ACancelledGraphCanBeUsedAfterAReset) {
  graph g;
  queue_node<int> a(g), b(g);
  join_node<pair, reserving> r(g);
  join_node<pair> q(g);
  std::atomic<int> calls{0};
  function_node<pair> end(g, unlimited, [&](const pair&) { ++calls; });
  make_edge(a, input_port<0>(r));
  make_edge(b, input_port<1>(r));
  make_edge(r, end);
  make_edge(q, end);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) {
      a.try_put(i);
      b.try_put(i);
      input_port<0>(q).try_put(i);
      input_port<1>(q).try_put(i);
    }
    g.cancel();
    g.wait_for_all();
    g.reset();
    calls = 0;
    a.try_put(1);
    b.try_put(1);
    input_port<0>(q).try_put(1);
    input_port<1>(q).try_put(1);
    g.wait_for_all();
    EXPECT_EQ(calls, 2);
  }
}

}  // namespace
