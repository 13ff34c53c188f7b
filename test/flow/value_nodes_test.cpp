// SPDX-License-Identifier: Apache-2.0
// overwrite_node, write_once_node, split_node, indexer_node, tagged_msg, composite_node.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;

template <template <typename> class Node>
struct kind {
  template <typename T>
  using node = Node<T>;
};
template <typename Kind>
class SingleValueNode : public ::testing::Test {};
using kinds = ::testing::Types<kind<overwrite_node>, kind<write_once_node>>;
TYPED_TEST_SUITE(SingleValueNode, kinds);

TYPED_TEST(SingleValueNode, GetsDoNotRemoveTheMessage) {
  graph g;
  typename TypeParam::template node<int> node(g);
  int v = -1;
  EXPECT_FALSE(node.is_valid());
  EXPECT_FALSE(node.try_get(v));
  EXPECT_FALSE(node.try_reserve(v));
  EXPECT_TRUE(node.try_put(1));
  EXPECT_TRUE(node.is_valid());
  for (int i = 0; i < 3; ++i) {
    v = -1;
    EXPECT_TRUE(node.try_get(v));
    EXPECT_EQ(v, 1);
    EXPECT_TRUE(node.try_reserve(v));
    EXPECT_TRUE(node.try_consume());
    EXPECT_TRUE(node.try_reserve(v));
    EXPECT_TRUE(node.try_release());
  }
  node.clear();
  EXPECT_FALSE(node.is_valid());
  EXPECT_FALSE(node.try_get(v));
  EXPECT_TRUE(node.try_put(2));
  EXPECT_TRUE(node.try_get(v));
  EXPECT_EQ(v, 2);
}

TYPED_TEST(SingleValueNode, BroadcastsToAllSuccessors) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> a(g), b(g), closed(g, false);
  make_edge(node, closed);
  make_edge(node, a);
  make_edge(node, b);
  EXPECT_TRUE(node.try_put(1));
  g.wait_for_all();
  EXPECT_EQ(a.got, std::vector<int>{1});
  EXPECT_EQ(b.got, std::vector<int>{1});
  EXPECT_TRUE(node.is_valid());
}

TYPED_TEST(SingleValueNode, ANewSuccessorGetsTheMessage) {
  graph g;
  typename TypeParam::template node<int> node(g);
  node.try_put(1);
  gate<int> late(g), puller(g, false, true), closed(g, false);
  make_edge(node, late);
  make_edge(node, puller);
  make_edge(node, closed);
  g.wait_for_all();
  EXPECT_EQ(late.got, std::vector<int>{1});
  EXPECT_EQ(puller.predecessors.size(), 1u) << "the edge pulls";
  node.clear();
  closed.open();
  node.try_put(2);
  g.wait_for_all();
  EXPECT_EQ(late.got, (std::vector<int>{1, 2}));
  EXPECT_EQ(closed.got, std::vector<int>{2}) << "the edge pushes";
}

TYPED_TEST(SingleValueNode, CopyResetAndRemovedEdges) {
  graph g;
  typename TypeParam::template node<int> node(g);
  gate<int> a(g);
  make_edge(node, a);
  node.try_put(1);
  typename TypeParam::template node<int> copy(node);
  EXPECT_FALSE(copy.is_valid());
  copy.try_put(5);
  EXPECT_EQ(a.got.size(), 1u);
  g.reset();
  EXPECT_FALSE(node.is_valid());
  node.try_put(2);
  EXPECT_EQ(a.got.size(), 2u);
  remove_edge(node, a);
  node.clear();
  node.try_put(3);
  EXPECT_EQ(a.got.size(), 2u);
  make_edge(node, a);
  g.reset(rf_clear_edges);
  node.try_put(4);
  EXPECT_EQ(a.got.size(), 3u);
  g.wait_for_all();
}

TYPED_TEST(SingleValueNode, ACopyThatThrowsChangesNothing) {
  {
    graph g;
    typename TypeParam::template node<counted> node(g);
    counted message(1), v;
    counted::until_throw() = 0;
    EXPECT_THROW(node.try_put(message), std::runtime_error);
    counted::until_throw() = -1;
    EXPECT_FALSE(node.is_valid());
    EXPECT_TRUE(node.try_put(message));
    counted::until_throw() = 0;
    EXPECT_THROW(node.try_get(v), std::runtime_error);
    counted::until_throw() = -1;
    EXPECT_TRUE(node.try_get(v));
  }
  EXPECT_EQ(counted::alive(), 0);
}

TYPED_TEST(SingleValueNode, ThreadsPutAndGet) {
  graph g;
  typename TypeParam::template node<std::string> node(g);
  std::atomic<int> accepted{0};
  queue_node<std::string> end(g);
  make_edge(node, end);
  in_threads(4, [&](int t) {
    std::string v;
    for (int i = 0; i < 500; ++i) {
      if (node.try_put(std::string(40, char('a' + t)))) ++accepted;
      if (node.try_get(v)) {
        EXPECT_EQ(v, std::string(40, v[0]));
      }
      if (i % 50 == 0) node.clear();
    }
  });
  g.wait_for_all();
  EXPECT_EQ(int(take_all<std::string>(end).size()), accepted);
}

TYPED_TEST(SingleValueNode, FollowsAndPrecedes) {
  graph g;
  broadcast_node<int> before(g);
  typename TypeParam::template node<int> node(follows(before));
  before.try_put(3);
  int v;
  EXPECT_TRUE(node.try_get(v));
  typename TypeParam::template node<int> first(precedes(before));
  node.clear();
  first.try_put(4);
  EXPECT_TRUE(node.try_get(v));
  EXPECT_EQ(v, 4);
}

TEST(OverwriteNode, KeepsTheLastMessage) {
  graph g;
  overwrite_node<int> node(g);
  gate<int> successor(g);
  make_edge(node, successor);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(node.try_put(i));
  int v;
  EXPECT_TRUE(node.try_get(v));
  EXPECT_EQ(v, 2);
  EXPECT_EQ(successor.got, (std::vector<int>{0, 1, 2}));
}

TEST(OverwriteNode, IsClearedByAFollowingPutOfAWaitedMessage) {
  graph g;
  overwrite_node<int> node(g);
  function_node<int> end(g, unlimited, [&](int v) {
    if (v == 1) node.try_put(2);  // ends the wait for 1
  });
  make_edge(node, end);
  EXPECT_TRUE(node.try_put_and_wait(1) || true);
  g.wait_for_all();
}

TEST(WriteOnceNode, KeepsTheFirstMessage) {
  graph g;
  write_once_node<int> node(g);
  gate<int> successor(g);
  make_edge(node, successor);
  EXPECT_TRUE(node.try_put(0));
  EXPECT_FALSE(node.try_put(1));
  int v;
  EXPECT_TRUE(node.try_get(v));
  EXPECT_EQ(v, 0);
  EXPECT_EQ(successor.got, std::vector<int>{0});
}

TEST(WriteOnceNode, OneOfManyThreadsWins) {
  for (int round = 0; round < 50; ++round) {
    graph g;
    write_once_node<int> node(g);
    std::atomic<int> accepted{0};
    in_threads(3, [&](int t) { accepted += node.try_put(t); });
    EXPECT_EQ(accepted, 1);
  }
}

// ---- split_node

TEST(SplitNode, PassesEachElementToItsPort) {
  graph g;
  using tuple_type = std::tuple<int, std::string, float>;
  split_node<tuple_type> node(g);
  EXPECT_TRUE(node.try_put(tuple_type(0, "lost", 0.f))) << "there is no successor";
  gate<int> a(g), a2(g);
  gate<std::string> b(g);
  gate<float> closed(g, false);
  make_edge(output_port<0>(node), a);
  make_edge(node, a2);
  make_edge(std::get<1>(node.output_ports()), b);
  make_edge(output_port<2>(node), closed);
  EXPECT_TRUE(node.try_put(tuple_type(1, "one", 1.f)));
  split_node<tuple_type> copy(node);
  copy.try_put(tuple_type(2, "two", 2.f));
  EXPECT_EQ(a.got, std::vector<int>{1});
  EXPECT_EQ(a2.got, std::vector<int>{1});
  EXPECT_EQ(b.got, std::vector<std::string>{"one"});
  remove_edge(output_port<0>(node), a);
  node.try_put(tuple_type(3, "three", 3.f));
  EXPECT_EQ(a.got.size(), 1u);
  EXPECT_EQ(a2.got.size(), 2u);
  g.reset(rf_clear_edges);
  node.try_put(tuple_type(4, "four", 4.f));
  EXPECT_EQ(b.got.size(), 2u);
  g.wait_for_all();
}

TEST(SplitNode, UndoesAJoin) {
  graph g;
  join_node<std::tuple<int, int>> join(g);
  split_node<std::tuple<int, int>> split(g);
  std::atomic<int> sum{0};
  function_node<int> a(g, unlimited, [&](int v) { sum += v; });
  function_node<int> b(g, unlimited, [&](int v) { sum += 1000 * v; });
  make_edge(join, split);
  make_edge(output_port<0>(split), a);
  make_edge(output_port<1>(split), b);
  for (int i = 0; i < 100; ++i) {
    input_port<0>(join).try_put(1);
    input_port<1>(join).try_put(2);
  }
  g.wait_for_all();
  EXPECT_EQ(sum, 200100);
  EXPECT_TRUE(split.try_put_and_wait(std::make_tuple(5, 0)));
  EXPECT_EQ(sum, 200105);
}

TEST(SplitNode, FollowsAndPrecedes) {
  graph g;
  broadcast_node<std::tuple<int, int>> before(g);
  gate<int> a(g), b(g);
  queue_node<int> qa(g), qb(g);
  split_node<std::tuple<int, int>> node(follows(before));
  make_edge(output_port<1>(node), b);
  before.try_put(std::make_tuple(1, 2));
  EXPECT_EQ(b.got, std::vector<int>{2});
  split_node<std::tuple<int, int>> first(precedes(qa, qb));
  first.try_put(std::make_tuple(3, 4));
  int v = 0;
  g.wait_for_all();
  EXPECT_TRUE(qb.try_get(v));
  EXPECT_EQ(v, 4);
}

// ---- indexer_node

TEST(IndexerNode, TagsMessagesWithTheirPort) {
  graph g;
  using node_type = indexer_node<int, std::string, int>;
  using message = node_type::output_type;
  static_assert(std::is_same<message, tagged_msg<std::size_t, int, std::string, int>>::value, "");
  node_type node(g);
  queue_node<message> end(g);
  message m;
  EXPECT_FALSE(node.try_get(m));
  make_edge(node, end);
  EXPECT_TRUE(input_port<0>(node).try_put(4));
  EXPECT_TRUE(input_port<1>(node).try_put("text"));
  EXPECT_TRUE(std::get<2>(node.input_ports()).try_put(5));
  g.wait_for_all();
  ASSERT_TRUE(end.try_get(m));
  EXPECT_EQ(m.tag(), 0u);
  EXPECT_TRUE(m.is_a<int>());
  EXPECT_FALSE(is_a<std::string>(m));
  EXPECT_EQ(m.cast_to<int>(), 4);
  EXPECT_THROW(m.cast_to<std::string>(), std::runtime_error);
  ASSERT_TRUE(end.try_get(m));
  EXPECT_EQ(m.tag(), 1u);
  EXPECT_EQ(cast_to<std::string>(m), "text");
  ASSERT_TRUE(end.try_get(m));
  EXPECT_EQ(m.tag(), 2u);
  EXPECT_EQ(cast_to<int>(m), 5);
  node_type copy(node);
  input_port<0>(copy).try_put(1);
  g.wait_for_all();
  EXPECT_FALSE(end.try_get(m));
  g.reset(rf_clear_edges);
  input_port<0>(node).try_put(1);
  g.wait_for_all();
  EXPECT_FALSE(end.try_get(m));
}

TEST(IndexerNode, FollowsAndPrecedes) {
  graph g;
  broadcast_node<int> a(g);
  broadcast_node<float> b(g);
  indexer_node<int, float> node(follows(a, b));
  gate<indexer_node<int, float>::output_type> end(g);
  make_edge(node, end);
  a.try_put(1);
  b.try_put(2.f);
  ASSERT_EQ(end.got.size(), 2u);
  EXPECT_EQ(end.got[1].tag(), 1u);
  EXPECT_TRUE(input_port<0>(node).try_put_and_wait(3));
}

TEST(TaggedMsg, IsCopiedWithItsValue) {
  {
    using message = tagged_msg<unsigned, int, counted, std::string>;
    message empty;
    message a(3, counted(7));
    message b(a);
    EXPECT_EQ(b.cast_to<counted>().value, 7);
    b = message(4u, std::string("s"));
    EXPECT_EQ(b.tag(), 4u);
    EXPECT_EQ(b.cast_to<std::string>(), "s");
    a = b;
    EXPECT_TRUE(a.is_a<std::string>());
    a = *&a;
    EXPECT_TRUE(a.is_a<std::string>());
    a = empty;
    EXPECT_FALSE(a.is_a<int>());
    EXPECT_THROW(a.cast_to<int>(), std::runtime_error);
    message c(1, counted(1));
    counted::until_throw() = 0;
    EXPECT_THROW(a = c, std::runtime_error);
    counted::until_throw() = -1;
    EXPECT_FALSE(a.is_a<counted>());
  }
  EXPECT_EQ(counted::alive(), 0);
}

// ---- composite_node

// Adds the messages of its two ports, and doubles the sum.
class adder : public composite_node<std::tuple<int, int>, std::tuple<int>> {
  using base = composite_node<std::tuple<int, int>, std::tuple<int>>;
  join_node<std::tuple<int, int>, queueing> join_;
  function_node<std::tuple<int, int>, int> sum_;
  function_node<int, int> twice_;

 public:
  explicit adder(graph& g)
      : base(g),
        join_(g),
        sum_(g, unlimited,
             [](const std::tuple<int, int>& t) { return std::get<0>(t) + std::get<1>(t); }),
        twice_(g, serial, [](int v) { return 2 * v; }) {
    make_edge(join_, sum_);
    make_edge(sum_, twice_);
    base::set_external_ports(base::input_ports_type(input_port<0>(join_), input_port<1>(join_)),
                             base::output_ports_type(twice_));
    base::add_visible_nodes(join_, sum_);
    base::add_nodes(twice_);
  }
};

TEST(CompositeNode, StandsForTheNodesInside) {
  graph g;
  broadcast_node<int> a(g), b(g);
  adder node(g);
  queue_node<int> end(g);
  make_edge(a, input_port<0>(node));
  make_edge(b, std::get<1>(node.input_ports()));
  make_edge(output_port<0>(node), end);
  a.try_put(3);
  b.try_put(4);
  g.wait_for_all();
  int v;
  ASSERT_TRUE(end.try_get(v));
  EXPECT_EQ(v, 14);
  queue_node<int> other(g);
  make_edge(node, other);
  make_edge(a, node);
  a.try_put(1);
  b.try_put(1);
  b.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(take_all<int>(other).size(), 2u) << "a has two edges to port 0";
}

TEST(CompositeNode, MayHaveOnlyInputsOrOnlyOutputs) {
  graph g;
  queue_node<int> inside(g), end(g);
  composite_node<std::tuple<int>, std::tuple<>> in(g);
  composite_node<std::tuple<>, std::tuple<int>> out(g);
  in.set_external_ports(std::tuple<receiver<int>&>(inside));
  out.set_external_ports(std::tuple<sender<int>&>(inside));
  make_edge(output_port<0>(out), end);
  input_port<0>(in).try_put(1);
  g.wait_for_all();
  int v;
  EXPECT_TRUE(end.try_get(v));
}

}  // namespace
