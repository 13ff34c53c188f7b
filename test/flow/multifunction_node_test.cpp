// SPDX-License-Identifier: Apache-2.0
// multifunction_node and async_node.
#include <tbb/flow_graph.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tbb::flow;

using two_ports = multifunction_node<int, std::tuple<int, double>>;

struct sorter {
  int calls = 0;
  void operator()(const int& value, two_ports::output_ports_type& ports) {
    ++calls;
    if (value % 2 == 0) {
      std::get<0>(ports).try_put(value);
    } else {
      std::get<1>(ports).try_put(value);
      std::get<1>(ports).try_put(value);
    }
  }
};

struct ends {
  graph& g;
  std::atomic<int> ints{0}, doubles{0};
  function_node<int> of_int{g, unlimited, [this](int) { ++ints; }};
  function_node<double> of_double{g, unlimited, [this](double) { ++doubles; }};
  explicit ends(graph& owner) : g(owner) {}
};

TEST(MultifunctionNode, SendsToItsPorts) {
  graph g;
  two_ports node(g, serial, sorter());
  ends e(g);
  make_edge(output_port<0>(node), e.of_int);
  make_edge(output_port<1>(node), e.of_double);
  for (int i = 0; i < 1000; ++i) node.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(e.ints, 500);
  EXPECT_EQ(e.doubles, 1000);
  EXPECT_EQ(copy_body<sorter>(node).calls, 1000);
  two_ports copy(node);
  copy.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(e.ints, 500);
  g.reset(reset_flags(rf_clear_edges | rf_reset_bodies));
  node.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(e.ints, 500);
  EXPECT_EQ(copy_body<sorter>(node).calls, 1);
}

TEST(MultifunctionNode, APutWithoutSuccessorsFails) {
  graph g;
  std::atomic<int> failed{0};
  multifunction_node<int, std::tuple<int>> node(
      g, unlimited, [&](int v, multifunction_node<int, std::tuple<int>>::output_ports_type& ports) {
        if (!std::get<0>(ports).try_put(v)) ++failed;
      });
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(failed, 1);
}

TEST(MultifunctionNode, TryPutAndWaitFollowsThePorts) {
  graph g;
  two_ports node(g, unlimited, sorter());
  ends e(g);
  make_edge(node, e.of_int);  // port 0
  for (int i = 1; i <= 100; ++i) {
    node.try_put_and_wait(0);
    EXPECT_EQ(e.ints, i);
  }
}

TEST(MultifunctionNode, SetsAndDeduction) {
  graph g;
  ends e(g);
  broadcast_node<int> before(g);
  two_ports node(precedes(e.of_int, e.of_double), serial, sorter());
  two_ports other(follows(before), serial, sorter());
  make_edges(other, make_node_set(e.of_int, e.of_double));
  before.try_put(1);
  node.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(e.ints, 1);
  EXPECT_EQ(e.doubles, 2);
#if __cplusplus >= 201703L
  multifunction_node deduced(g, serial, sorter());
  static_assert(std::is_same_v<decltype(deduced), two_ports>);
#endif
}

// Works on messages in threads of its own.
class workers {
 public:
  using node = async_node<int, int>;

  ~workers() {
    for (std::thread& t : threads_) t.join();
  }
  void work(int value, node::gateway_type& gateway) {
    gateway.reserve_wait();
    threads_.emplace_back([value, &gateway] {
      gateway.try_put(2 * value);
      gateway.release_wait();
    });
  }

 private:
  std::vector<std::thread> threads_;
};

TEST(AsyncNode, ResultsComeFromOtherThreads) {
  graph g;
  workers w;
  workers::node node(g, serial,
                     [&](int v, workers::node::gateway_type& gateway) { w.work(v, gateway); });
  std::atomic<int> sum{0};
  function_node<int> end(g, unlimited, [&](int v) { sum += v; });
  make_edge(node, end);
  for (int i = 0; i < 20; ++i) node.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(sum, 380);
  remove_edge(node, end);
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(sum, 380);
  EXPECT_FALSE(node.gateway().try_put(1));
}

TEST(AsyncNode, TryPutAndWaitDoesNotWaitForOtherThreads) {
  graph g;
  std::atomic<bool> may_end{false};
  std::thread worker;
  std::atomic<int> ends{0};
  using node_type = async_node<int, int>;
  node_type node(g, unlimited, [&](int v, node_type::gateway_type& gateway) {
    gateway.reserve_wait();
    worker = std::thread([&, v] {
      while (!may_end) std::this_thread::yield();
      gateway.try_put(v);
      gateway.release_wait();
    });
  });
  function_node<int> end(g, unlimited, [&](int) { ++ends; });
  make_edge(node, end);
  function_node<int, int> begin(g, serial, [](int v) { return v; });
  make_edge(begin, node);
  EXPECT_TRUE(begin.try_put_and_wait(1));
  EXPECT_EQ(ends, 0);
  may_end = true;
  g.wait_for_all();
  EXPECT_EQ(ends, 1);
  worker.join();
}

TEST(AsyncNode, SetsAndPolicies) {
  graph g;
  std::atomic<int> sum{0};
  function_node<int> a(g, unlimited, [&](int v) { sum += v; }), b(a);
  using node_type = async_node<int, int, queueing>;
  const auto body = [](int v, node_type::gateway_type& gateway) { gateway.try_put(v); };
  node_type node(precedes(a, b), unlimited, body);
  broadcast_node<int> start(precedes(node));
  start.try_put(3);
  g.wait_for_all();
  EXPECT_EQ(sum, 6);
  node_type copy(node);
  make_edge(output_port<0>(copy), a);
  copy.try_put(3);
  g.wait_for_all();
  EXPECT_EQ(sum, 9);
}

}  // namespace
