// SPDX-License-Identifier: Apache-2.0
// buffer_node, queue_node, priority_queue_node, sequencer_node.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;

// The kinds of nodes. The ordered ones give out 0, 1, 2... in this order, if that was the order of
// the puts.
struct buffer_kind {
  template <typename T>
  using node = buffer_node<T>;
  static constexpr bool is_ordered = false;
};
struct queue_kind {
  template <typename T>
  using node = queue_node<T>;
  static constexpr bool is_ordered = true;
};
struct priority_kind {
  template <typename T>
  using node = priority_queue_node<T, std::greater<T>>;
  static constexpr bool is_ordered = true;
};
struct sequence_kind {
  template <typename T>
  struct node : sequencer_node<T> {
    explicit node(graph& g) : sequencer_node<T>(g, [](const T& v) { return std::size_t(v); }) {}
    node(const node& other) : sequencer_node<T>(other) {}
  };
  static constexpr bool is_ordered = true;
};

template <typename Kind>
class BufferingNode : public ::testing::Test {};
using kinds = ::testing::Types<buffer_kind, queue_kind, priority_kind, sequence_kind>;
TYPED_TEST_SUITE(BufferingNode, kinds);

template <typename Kind>
void expect_numbers(std::vector<int> got, int count) {
  if (!Kind::is_ordered) std::sort(got.begin(), got.end());
  std::vector<int> expected(static_cast<std::size_t>(count));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(got, expected);
}

TYPED_TEST(BufferingNode, KeepsMessagesForGets) {
  graph g;
  typename TypeParam::template node<int> node(g);
  int v = -1;
  EXPECT_FALSE(node.try_get(v));
  EXPECT_EQ(v, -1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(node.try_put(i));
  g.wait_for_all();
  expect_numbers<TypeParam>(take_all<int>(node), 1000);
  EXPECT_FALSE(node.try_get(v));
}

TYPED_TEST(BufferingNode, GivesEachMessageToOneSuccessor) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> a(g), b(g);
  make_edge(node, a);
  make_edge(node, b);
  for (int i = 0; i < 100; ++i) node.try_put(i);
  g.wait_for_all();
  std::vector<int> got = a.got;
  got.insert(got.end(), b.got.begin(), b.got.end());
  std::sort(got.begin(), got.end());
  expect_numbers<TypeParam>(got, 100);
}

TYPED_TEST(BufferingNode, TriesTheNextSuccessorIfOneRejects) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> closed(g, false), open(g);
  make_edge(node, closed);
  make_edge(node, open);
  for (int i = 0; i < 10; ++i) node.try_put(i);
  g.wait_for_all();
  expect_numbers<TypeParam>(open.got, 10);
}

TYPED_TEST(BufferingNode, KeepsWhatNoSuccessorAccepts) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> closed(g, false);
  make_edge(node, closed);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(node.try_put(i));
  g.wait_for_all();
  EXPECT_GT(closed.offered, 0);
  expect_numbers<TypeParam>(take_all<int>(node), 10);
}

TYPED_TEST(BufferingNode, AnEdgeBecomesPullAndPushAgain) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> puller(g, false, true);
  make_edge(node, puller);
  node.try_put(0);
  node.try_put(1);
  g.wait_for_all();
  ASSERT_EQ(puller.predecessors.size(), 1u);
  const int offered = puller.offered;
  node.try_put(2);
  g.wait_for_all();
  EXPECT_EQ(puller.offered, offered) << "the edge pulls";
  sender<int>& from = *puller.predecessors[0];
  puller.predecessors.clear();
  int v;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(from.try_get(v));
  EXPECT_FALSE(from.try_get(v));
  puller.open();
  from.register_successor(puller);
  node.try_put(3);
  g.wait_for_all();
  EXPECT_EQ(puller.got, std::vector<int>{3});
}

TYPED_TEST(BufferingNode, ANewSuccessorGetsWhatThereIs) {
  graph g;
  typename TypeParam::template node<int> node(g);
  for (int i = 0; i < 10; ++i) node.try_put(i);
  g.wait_for_all();
  gate<int> late(g);
  make_edge(node, late);
  g.wait_for_all();
  expect_numbers<TypeParam>(late.got, 10);
}

TYPED_TEST(BufferingNode, OneMessageAtATimeCanBeReserved) {
  graph g;
  typename TypeParam::template node<int> node(g);
  int v = -1, w = -1;
  EXPECT_FALSE(node.try_reserve(v));
  for (int i = 0; i < 3; ++i) node.try_put(i);
  g.wait_for_all();
  ASSERT_TRUE(node.try_reserve(v));
  EXPECT_FALSE(node.try_reserve(w));
  EXPECT_FALSE(node.try_get(w));
  EXPECT_TRUE(node.try_release());
  ASSERT_TRUE(node.try_reserve(w));
  EXPECT_EQ(v, w) << "a message that is released comes back to its place";
  EXPECT_TRUE(node.try_consume());
  std::vector<int> got = {w};
  for (int i : take_all<int>(node)) got.push_back(i);
  expect_numbers<TypeParam>(got, 3);
}

TYPED_TEST(BufferingNode, ReservedMessagesAreNotPushed) {
  graph g;
  typename TypeParam::template node<int> node(g);
  node.try_put(0);
  g.wait_for_all();
  int v;
  ASSERT_TRUE(node.try_reserve(v));
  gate<int> successor(g);
  make_edge(node, successor);
  node.try_put(1);
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  node.try_release();
  g.wait_for_all();
  expect_numbers<TypeParam>(successor.got, 2);
}

TYPED_TEST(BufferingNode, ConsumingAReservationLetsTheNextPass) {
  graph g;
  typename TypeParam::template node<int> node(g);
  node.try_put(0);
  node.try_put(1);
  g.wait_for_all();
  int v;
  ASSERT_TRUE(node.try_reserve(v));
  gate<int> successor(g);
  make_edge(node, successor);
  node.try_consume();
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 1u);
}

TYPED_TEST(BufferingNode, CopiesAreEmptyAndHaveNoEdges) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> successor(g);
  make_edge(node, successor);
  typename TypeParam::template node<int> empty(node);
  node.try_put(0);
  g.wait_for_all();
  typename TypeParam::template node<int> copy(node);
  int v;
  EXPECT_FALSE(copy.try_get(v));
  copy.try_put(0);
  empty.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 1u);
  EXPECT_TRUE(copy.try_get(v));
  EXPECT_TRUE(empty.try_get(v));
}

TYPED_TEST(BufferingNode, ResetRemovesMessagesAndOnRequestEdges) {
  graph g;
  typename TypeParam::template node<int> node(g);
  for (int i = 0; i < 3; ++i) node.try_put(i);
  int v;
  g.wait_for_all();
  node.try_reserve(v);
  g.reset();
  EXPECT_FALSE(node.try_get(v));
  EXPECT_FALSE(node.try_release());
  gate<int> successor(g);
  make_edge(node, successor);
  node.try_put(0);
  g.wait_for_all();
  g.reset();
  node.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 2u);
  g.reset(rf_clear_edges);
  node.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 2u);
  EXPECT_TRUE(node.try_get(v));
}

TYPED_TEST(BufferingNode, ARemovedEdgeGetsNothing) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> successor(g);
  make_edge(node, successor);
  node.try_put(0);
  g.wait_for_all();
  remove_edge(node, successor);
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(successor.got.size(), 1u);
  gate<int> puller(g, false, true);
  make_edge(node, puller);
  g.wait_for_all();
  ASSERT_EQ(puller.predecessors.size(), 1u);
  remove_edge(node, puller);
  EXPECT_TRUE(puller.predecessors.empty());
}

TYPED_TEST(BufferingNode, ManyThreadsPutAndGetEachMessageOnce) {
  graph g;
  typename TypeParam::template node<int> node(g);
  constexpr int kThreads = 3, kEach = 2000;
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  std::atomic<int> left{kThreads * kEach};
  in_threads(2 * kThreads, [&](int t) {
    if (t < kThreads) {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(node.try_put(i * kThreads + t));
      return;
    }
    // One of the threads reserves; the others get.
    for (int turn = 0; left > 0; ++turn) {
      int v;
      if (t != kThreads) {
        if (!node.try_get(v)) {
          std::this_thread::yield();
          continue;
        }
      } else {
        if (!node.try_reserve(v)) {
          std::this_thread::yield();
          continue;
        }
        if (turn % 2 == 0) {
          node.try_release();
          continue;
        }
        node.try_consume();
      }
      ++seen[std::size_t(v)];
      --left;
    }
  });
  g.wait_for_all();
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i;
}

TYPED_TEST(BufferingNode, MessagesReachConcurrentRejectingSuccessors) {
  graph g;
  typename TypeParam::template node<int> node(g);
  constexpr int kThreads = 3, kEach = 1500;
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  const auto body = [&](int v) {
    ++seen[std::size_t(v)];
    return continue_msg();
  };
  function_node<int, continue_msg, rejecting> a(g, serial, body), b(g, 2, body);
  make_edge(node, a);
  make_edge(node, b);
  in_threads(kThreads, [&](int t) {
    for (int i = 0; i < kEach; ++i) node.try_put(i * kThreads + t);
    g.wait_for_all();
  });
  g.wait_for_all();
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i;
}

TYPED_TEST(BufferingNode, ChainsOfBuffersLoseNothing) {
  graph g;
  typename TypeParam::template node<int> first(g), second(g), third(g);
  std::atomic<int> count{0};
  std::atomic<long> sum{0};
  function_node<int> end(g, unlimited, [&](int v) {
    ++count;
    sum += v;
  });
  make_edge(first, second);
  make_edge(second, third);
  make_edge(third, end);
  in_threads(3, [&](int t) {
    for (int i = 0; i < 1000; ++i) first.try_put(i * 3 + t);
  });
  g.wait_for_all();
  EXPECT_EQ(count, 3000);
  EXPECT_EQ(sum, 2999L * 3000 / 2);
}

TYPED_TEST(BufferingNode, TryPutAndWaitWaitsForTheMessageInTheBuffer) {
  graph g;
  typename TypeParam::template node<int> node(g);
  std::atomic<int> processed{0};
  function_node<int, continue_msg, rejecting> end(g, serial, [&](int) {
    ++processed;
    return continue_msg();
  });
  make_edge(node, end);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(node.try_put_and_wait(i));
    EXPECT_GE(processed, i + 1);
  }
  g.wait_for_all();
  EXPECT_EQ(processed, 20);
}

TYPED_TEST(BufferingNode, FollowsAndPrecedesNodes) {
  graph g;
  broadcast_node<int> before(g);
  gate<int> after(g);
  typename TypeParam::template node<int> node(g);
  make_edges(make_node_set(before), node);
  make_edge(node, after);
  before.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(after.got, std::vector<int>{0});
}

TYPED_TEST(BufferingNode, ACancelledGraphKeepsMessagesUntilReset) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> successor(g);
  make_edge(node, successor);
  g.cancel();
  node.try_put(0);
  g.wait_for_all();
  EXPECT_TRUE(g.is_cancelled());
  g.reset();
  node.try_put(0);
  g.wait_for_all();
  EXPECT_FALSE(successor.got.empty());
}

// Copies throw at every possible place: no message is lost, and none is leaked.
template <typename Node>
void expect_strong_puts(Node& node) {
  graph& g = node.graph_reference();
  const long before = counted::alive();
  int accepted = 0;
  for (int number = 0; accepted < 5 && number < 40; ++number) {
    counted message(accepted);
    counted::until_throw() = number % 3;
    bool ok = false;
    try {
      ok = node.try_put(message);
    } catch (const std::runtime_error&) {
    }
    counted::until_throw() = -1;
    accepted += ok;
  }
  g.wait_for_all();
  EXPECT_EQ(accepted, 5);
  EXPECT_EQ(counted::alive(), before + 5);
  counted v;
  for (int taken = 0; taken < 5;) {
    counted::until_throw() = taken % 2;
    bool got = false;
    try {
      got = node.try_reserve(v);
      if (got) got = node.try_consume();
    } catch (const std::runtime_error&) {
      counted::until_throw() = -1;
      got = node.try_get(v);
    }
    counted::until_throw() = -1;
    ASSERT_TRUE(got);
    ++taken;
  }
  EXPECT_FALSE(node.try_get(v));
  EXPECT_EQ(counted::alive(), before + 1);
}

TEST(BufferingNodes, ACopyThatThrowsLosesNothing) {
  graph g;
  buffer_node<counted> b(g);
  expect_strong_puts(b);
  queue_node<counted> q(g);
  expect_strong_puts(q);
  priority_queue_node<counted> p(g);
  expect_strong_puts(p);
  sequencer_node<counted> s(g, [](const counted& c) { return std::size_t(c.value); });
  expect_strong_puts(s);
}

TEST(BufferingNodes, ACopyThatThrowsInTheGraphCancelsIt) {
  graph g;
  {
    queue_node<counted> from(g), to(g);
    make_edge(from, to);
    counted::until_throw() = 1;
    from.try_put(counted(1));
    EXPECT_THROW(g.wait_for_all(), std::runtime_error);
    counted::until_throw() = -1;
    EXPECT_TRUE(g.exception_thrown());
    counted v;
    EXPECT_TRUE(from.try_get(v)) << "the message is back";
    from.try_put(counted(2));
    g.wait_for_all();
    EXPECT_TRUE(to.try_get(v));
  }
  EXPECT_EQ(counted::alive(), 0);
}

TEST(BufferingNodes, DestroyedNodesDestroyTheirMessages) {
  {
    graph g;
    buffer_node<counted> b(g);
    queue_node<counted> q(g);
    priority_queue_node<counted> p(g);
    sequencer_node<counted> s(g, [](const counted& c) { return std::size_t(c.value); });
    for (int i = 9; i >= 0; --i) {
      b.try_put(i);
      q.try_put(i);
      p.try_put(i);
      if (i != 4) s.try_put(i);
    }
    counted v;
    q.try_reserve(v);
    p.try_reserve(v);
    p.try_release();
    g.wait_for_all();
  }
  EXPECT_EQ(counted::alive(), 0);
}

TEST(BufferingNodes, AreDeduced) {
#if defined(__cpp_deduction_guides)
  graph g;
  broadcast_node<int> before(g);
  buffer_node b(follows(before));
  queue_node q(follows(before));
  priority_queue_node p(follows(before));
  priority_queue_node p2(follows(before), std::greater<int>());
  sequencer_node s(g, [](const std::string& v) { return v.size(); });
  sequencer_node s2(follows(before), [](int v) { return std::size_t(v); });
  buffer_node pb(precedes(q));
  before.try_put(0);
  g.wait_for_all();
  int v = -1;
  EXPECT_TRUE(b.try_get(v));
  EXPECT_TRUE(q.try_get(v));
  EXPECT_TRUE(p.try_get(v));
  EXPECT_TRUE(p2.try_get(v));
  EXPECT_TRUE(s2.try_get(v));
  pb.try_put(4);
  s.try_put("");
  g.wait_for_all();
  EXPECT_TRUE(q.try_get(v));
  EXPECT_EQ(v, 4);
  static_assert(std::is_same<decltype(s), sequencer_node<std::string>>::value, "");
#endif
}

TEST(BufferingNodes, AGraphIsDestroyedWhileItRuns) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> count{0};
    {
      graph g;
      queue_node<int> a(g);
      buffer_node<int> b(g);
      function_node<int, continue_msg, rejecting> f(g, serial, [&](int) {
        ++count;
        return continue_msg();
      });
      make_edge(a, b);
      make_edge(b, f);
      for (int i = 0; i < 100; ++i) a.try_put(i);
      if (round % 2 != 0) g.cancel();
      g.wait_for_all();
    }
    if (round % 2 == 0) {
      EXPECT_EQ(count, 100);
    }
  }
}

}  // namespace
