// SPDX-License-Identifier: Apache-2.0
// The orders of priority_queue_node and sequencer_node; see also buffering_nodes_test.cpp.
#include <tbb/flow_graph.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;

TEST(PriorityQueueNode, GivesOutTheGreatestFirst) {
  graph g;
  priority_queue_node<int> node(g);
  std::vector<int> numbers;
  for (int i = 0; i < 500; ++i) numbers.push_back(i * 7919 % 500);
  for (int i : numbers) node.try_put(i);
  g.wait_for_all();
  std::sort(numbers.begin(), numbers.end(), std::greater<int>());
  EXPECT_EQ(take_all<int>(node), numbers);
}

TEST(PriorityQueueNode, AReleasedMessageMayNoLongerBeTheGreatest) {
  graph g;
  priority_queue_node<int> node(g);
  node.try_put(1);
  node.try_put(2);
  g.wait_for_all();
  int v;
  ASSERT_TRUE(node.try_reserve(v));
  EXPECT_EQ(v, 2);
  node.try_put(3);
  node.try_release();
  EXPECT_EQ(take_all<int>(node), (std::vector<int>{3, 2, 1}));
}

TEST(PriorityQueueNode, AComparisonThatThrowsLosesNothing) {
  struct throwing_less {
    int* until;
    bool operator()(int a, int b) const {
      if (*until >= 0 && (*until)-- == 0) throw std::runtime_error("compare");
      return a < b;
    }
  };
  int until = -1;
  graph g;
  priority_queue_node<int, throwing_less> node(g, throwing_less{&until});
  std::vector<int> accepted;
  for (int i = 0; i < 200; ++i) {
    until = i % 5 == 4 ? i % 3 : -1;
    try {
      const int v = i * 37 % 101;
      if (node.try_put(v)) accepted.push_back(v);
    } catch (const std::runtime_error&) {
    }
  }
  std::vector<int> got;
  for (int i = 0;; ++i) {
    until = i % 3 == 0 ? i % 4 : -1;
    int v;
    try {
      if (!node.try_get(v)) break;
      got.push_back(v);
    } catch (const std::runtime_error&) {
    }
  }
  std::sort(accepted.begin(), accepted.end(), std::greater<int>());
  EXPECT_EQ(got, accepted);
}

TEST(SequencerNode, PassesMessagesOnInTheirSequence) {
  graph g;
  sequencer_node<int> node(g, [](int v) { return std::size_t(v); });
  gate<int> successor(g);
  make_edge(node, successor);
  for (int i : {3, 1, 4, 2, 7}) EXPECT_TRUE(node.try_put(i));
  g.wait_for_all();
  EXPECT_TRUE(successor.got.empty());
  node.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(node.try_put(3)) << "the number has been used";
  EXPECT_FALSE(node.try_put(7)) << "the number is waiting";
  int v;
  EXPECT_FALSE(node.try_get(v)) << "5 is missing";
  node.try_put(6);
  node.try_put(5);
  g.wait_for_all();
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  g.reset();
  EXPECT_TRUE(node.try_put(0)) << "numbers begin anew";
  g.wait_for_all();
}

TEST(SequencerNode, RejectsTheNumberOfAReservedMessage) {
  graph g;
  sequencer_node<int> node(g, [](int v) { return std::size_t(v); });
  node.try_put(0);
  int v;
  ASSERT_TRUE(node.try_reserve(v));
  EXPECT_FALSE(node.try_put(0));
  node.try_release();
  EXPECT_FALSE(node.try_put(0));
  EXPECT_TRUE(node.try_get(v));
}

TEST(SequencerNode, ASequencerThatThrowsDoesNotAcceptTheMessage) {
  graph g;
  sequencer_node<int> node(g, [](int v) -> std::size_t {
    if (v < 0) throw std::invalid_argument("negative");
    return std::size_t(v);
  });
  EXPECT_THROW(node.try_put(-1), std::invalid_argument);
  EXPECT_TRUE(node.try_put(0));
  int v;
  EXPECT_TRUE(node.try_get(v));
}

struct numbered {
  std::size_t number;
  std::size_t get() const { return number; }
};

TEST(SequencerNode, TakesPointersToMembers) {
  graph g;
  sequencer_node<numbered> by_data(g, &numbered::number), by_function(g, &numbered::get);
  by_data.try_put({1});
  by_function.try_put({1});
  numbered v;
  EXPECT_FALSE(by_data.try_get(v));
  EXPECT_FALSE(by_function.try_get(v));
  by_data.try_put({0});
  by_function.try_put({0});
  EXPECT_TRUE(by_data.try_get(v));
  EXPECT_TRUE(by_function.try_get(v));
}

struct counting_sequencer {
  std::size_t count = 0;
  std::size_t operator()(int) { return count++; }
};

TEST(SequencerNode, CopiesAndResetsUseTheOriginalSequencer) {
  graph g;
  sequencer_node<int> node(g, counting_sequencer());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(node.try_put(i));
  sequencer_node<int> copy(node);
  EXPECT_TRUE(copy.try_put(10));
  int v;
  EXPECT_TRUE(copy.try_get(v)) << "the copy counts from 0";
  g.wait_for_all();
  g.reset(rf_reset_bodies);
  EXPECT_TRUE(node.try_put(5));
  EXPECT_TRUE(node.try_get(v)) << "the sequencer counts from 0 again";
  EXPECT_EQ(v, 5);
}

}  // namespace
