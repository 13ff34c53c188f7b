// SPDX-License-Identifier: Apache-2.0
// The arguments of nodes that the compiler deduces beyond those of the other tests.
#include <gtest/gtest.h>
#include <tbb/flow_graph.h>

#include <tuple>
#include <type_traits>

namespace {

using namespace tbb::flow;

TEST(Deduction, ContinueNodesWithANumberOfPredecessors) {
  graph g;
  broadcast_node<continue_msg> from(g);
  const auto body = [](continue_msg) { return 1.0; };
  continue_node plain(g, 2, body);
  continue_node prior(g, 2, body, node_priority_t(1));
  continue_node light(g, 2, body, lightweight());
  continue_node after(follows(from), 2, body);
  EXPECT_TRUE((std::is_same_v<decltype(plain), continue_node<double>>));
  EXPECT_TRUE((std::is_same_v<decltype(prior), continue_node<double>>));
  EXPECT_TRUE((std::is_same_v<decltype(light), continue_node<double, lightweight>>));
  EXPECT_TRUE((std::is_same_v<decltype(after), continue_node<double>>));
  EXPECT_FALSE(std::is_void_v<decltype(plain.try_put(continue_msg()))>);
}

TEST(Deduction, NodesFromSets) {
  graph g;
  queue_node<int> ints(g);
  queue_node<double> doubles(g);
  broadcast_node<std::tuple<int, double>> pairs(g);
  limiter_node limited(follows(ints), 3);
  limiter_node limiting(precedes(doubles), 3);
  indexer_node indexed(follows(ints, doubles));
  split_node splits(follows(pairs));
  split_node split_to(precedes(ints, doubles));
  EXPECT_TRUE((std::is_same_v<decltype(limited), limiter_node<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(limiting), limiter_node<double>>));
  EXPECT_TRUE((std::is_same_v<decltype(indexed), indexer_node<int, double>>));
  EXPECT_TRUE((std::is_same_v<decltype(splits), split_node<std::tuple<int, double>>>));
  EXPECT_TRUE((std::is_same_v<decltype(split_to), split_node<std::tuple<int, double>>>));
}

}  // namespace
