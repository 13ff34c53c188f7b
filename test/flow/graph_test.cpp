// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tbb/flow_graph.h>
using namespace tbb::flow;
struct counter : continue_receiver {
  graph& g;
  std::atomic<int> n{0};
  counter(graph& gg, int p = 0) : continue_receiver(p), g(gg) {}
  graph_task* execute() override {
    ++n;
    return nullptr;
  }
  graph& graph_reference() const override { return g; }
};
TEST(Graph, Base) {
  graph g;
  broadcast_node<continue_msg> a(g), b(g);
  counter c(g), d(g);
  make_edge(a, c);
  make_edge(b, c);
  make_edge(a, d);
  make_edges(a, make_node_set(b, b));
  broadcast_node<continue_msg> e(precedes(a, b));
  broadcast_node f(follows(a));
  for (int i = 0; i < 10; ++i) a.try_put(continue_msg());
  g.wait_for_all();
  EXPECT_EQ(c.n, 15);
  EXPECT_EQ(d.n, 10);
  remove_edge(a, c);
  for (int i = 0; i < 10; ++i) a.try_put_and_wait(continue_msg());
  EXPECT_EQ(c.n, 15 + 20);
  g.reset(rf_clear_edges);
  int k = 0;
  g.run([&] { ++k; });
  g.wait_for_all();
  EXPECT_EQ(k, 1);
}
