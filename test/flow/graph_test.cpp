// SPDX-License-Identifier: Apache-2.0
// graph: waiting, cancellation, reset, arenas, and changes while it runs.
#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tbb::flow;

static_assert(!std::is_copy_constructible<graph>::value, "");
static_assert(std::is_same<tbb::flow::graph, oneapi::tbb::flow::graph>::value, "");

TEST(Graph, WaitsForReservations) {
  graph g;
  g.wait_for_all();
  g.reserve_wait();
  g.increment_wait_count();
  std::atomic<int> released{0};
  std::thread other([&] {
    ++released;
    g.release_wait();
    ++released;
    g.decrement_wait_count();
  });
  g.wait_for_all();
  EXPECT_EQ(released, 2);
  other.join();
}

TEST(Graph, RunsFunctions) {
  graph g;
  std::atomic<int> calls{0};
  for (int i = 0; i < 100; ++i) g.run([&] { ++calls; });
  function_node<int> end(g, unlimited, [&](int v) { calls += v; });
  g.run(end, [] { return 5; });
  g.wait_for_all();
  EXPECT_EQ(calls, 105);
}

TEST(Graph, ListsItsNodes) {
  graph g;
  EXPECT_EQ(g.begin(), g.end());
  broadcast_node<int> a(g);
  {
    broadcast_node<int> b(g);
    EXPECT_EQ(std::distance(g.begin(), g.end()), 2);
  }
  broadcast_node<int> c(g);
  graph::iterator i = g.begin();
  EXPECT_EQ(&*i, &a);
  EXPECT_EQ(&*++i, &c);
  EXPECT_TRUE(++i == g.end());
  const graph& constant = g;
  EXPECT_EQ(std::distance(constant.begin(), constant.end()), 2);
  EXPECT_EQ(std::distance(g.cbegin(), g.cend()), 2);
}

TEST(Graph, NodesMayOutliveIt) {
  std::unique_ptr<graph> g(new graph);
  broadcast_node<int> a(*g), b(*g);
  make_edge(a, b);
  g.reset();
}

TEST(Graph, TheDestructorWaits) {
  std::atomic<int> calls{0};
  std::unique_ptr<function_node<int>> node;
  {
    graph g;
    node.reset(new function_node<int>(g, 2, [&](int) { ++calls; }));
    for (int i = 0; i < 1000; ++i) node->try_put(i);
  }
  EXPECT_EQ(calls, 1000);
}

TEST(Graph, TheDestructorDropsExceptions) {
  std::unique_ptr<function_node<int>> node;
  graph g;
  {
    graph inner;
    node.reset(new function_node<int>(inner, 2, [&](int) { throw std::runtime_error("x"); }));
    node->try_put(1);
  }
}

TEST(Graph, CancelDropsMessages) {
  graph g;
  std::atomic<int> calls{0};
  std::atomic<bool> begun{false}, go{false};
  function_node<int> node(g, serial, [&](int) {
    ++calls;
    begun = true;
    while (!go) std::this_thread::yield();
  });
  std::thread canceller([&] {
    while (!begun) std::this_thread::yield();
    g.cancel();
    go = true;
  });
  for (int i = 0; i < 100; ++i) node.try_put(i);
  g.wait_for_all();
  canceller.join();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(g.is_cancelled());
  EXPECT_FALSE(g.exception_thrown());
  g.reset();
  EXPECT_FALSE(g.is_cancelled());
  for (int i = 0; i < 100; ++i) node.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(calls, 101);
}

TEST(Graph, AContextOfTheProgram) {
  tbb::task_group_context context(
      tbb::task_group_context::bound,
      tbb::task_group_context::default_traits | tbb::task_group_context::concurrent_wait);
  graph g(context);
  int calls = 0;
  function_node<int> node(g, serial, [&](int) { ++calls; });
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
  context.cancel_group_execution();
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(g.is_cancelled());
  EXPECT_TRUE(context.is_group_execution_cancelled());  // concurrent_wait: until the reset
  g.reset();
  EXPECT_FALSE(context.is_group_execution_cancelled());
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
}

TEST(Graph, TasksRunInItsArena) {
  tbb::task_arena arena(3);
  std::unique_ptr<graph> g;
  arena.execute([&] { g.reset(new graph); });
  std::atomic<int> wrong{0};
  const auto body = [&](int v) {
    if (tbb::this_task_arena::max_concurrency() != 3) ++wrong;
    return v;
  };
  function_node<int, int> first(*g, serial, body), second(*g, unlimited, body);
  make_edge(first, second);
  for (int i = 0; i < 100; ++i) first.try_put(i);
  g->wait_for_all();
  EXPECT_EQ(wrong, 0);
  // From now on they run in this thread's arena.
  g->reset();
  tbb::task_arena other(4);
  other.execute([&] { first.try_put(1); });
  g->wait_for_all();
  EXPECT_GT(wrong, 0);
}

TEST(Graph, GraphsInTasksAndTasksInGraphs) {
  std::atomic<int> sum{0};
  graph outer;
  function_node<int> node(outer, unlimited, [&](int n) {
    graph inner;
    function_node<int, int> a(inner, serial, [](int v) { return v; });
    function_node<int> b(inner, unlimited,
                         [&](int v) { tbb::parallel_for(0, v, [&](int) { ++sum; }); });
    make_edge(a, b);
    for (int i = 0; i < n; ++i) a.try_put(1);
    inner.wait_for_all();
  });
  for (int i = 0; i < 50; ++i) node.try_put(10);
  outer.wait_for_all();
  EXPECT_EQ(sum, 500);
}

TEST(Graph, MessagesBetweenTwoGraphs) {
  graph one, two;
  std::atomic<int> calls{0};
  function_node<int> there(two, serial, [&](int) { ++calls; });
  function_node<int> here(one, unlimited, [&](int v) { there.try_put(v); });
  function_node<int, int> across(one, unlimited, [&](int v) { return v; });
  make_edge(across, there);
  for (int i = 0; i < 500; ++i) {
    here.try_put(i);
    across.try_put(i);
  }
  one.wait_for_all();
  two.wait_for_all();
  EXPECT_EQ(calls, 1000);
}

// A loop of nodes through which a few messages run for a while.
TEST(Graph, EdgesChangeWhileItRuns) {
  graph g;
  std::atomic<bool> stops{false};
  std::atomic<int> at_side{0};
  function_node<int, int> first(g, unlimited, [](int v) { return v; });
  multifunction_node<int, std::tuple<int>> second(
      g, serial, [&](int v, multifunction_node<int, std::tuple<int>>::output_ports_type& ports) {
        if (!stops) std::get<0>(ports).try_put(v);
      });
  std::vector<std::unique_ptr<function_node<int>>> sides;
  for (int i = 0; i < 10; ++i) {
    sides.emplace_back(new function_node<int>(g, i % 3, [&](int) { ++at_side; }));
  }
  make_edge(first, second);
  make_edge(second, first);
  for (int i = 0; i < 4; ++i) first.try_put(i);
  std::thread changer([&] {
    for (int round = 0; round < 20; ++round) {
      for (auto& side : sides) make_edge(first, *side);
      for (const int seen = at_side; at_side == seen;) std::this_thread::yield();
      for (auto& side : sides) remove_edge(first, *side);
    }
    stops = true;
  });
  changer.join();
  g.wait_for_all();
  const int seen = at_side;
  EXPECT_GT(seen, 0);
  first.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(at_side, seen);
}

// Two producers, two rejecting consumers of each limit, edges that switch all the time.
TEST(Graph, PulledMessagesAreNeitherLostNorDoubled) {
  for (int limit = 1; limit <= 3; ++limit) {
    constexpr int kCount = 1500;
    graph g;
    std::vector<std::atomic<int>> seen(2 * kCount);
    const auto mark = [&](int v) { ++seen[v]; };
    int next[2] = {0, kCount};
    const auto make = [&next](int which) {
      return [&next, which](tbb::flow_control& control) {
        if (next[which] == (which + 1) * kCount) control.stop();
        return next[which]++;
      };
    };
    input_node<int> a(g, make(0)), b(g, make(1));
    function_node<int, continue_msg, rejecting> end(g, limit, mark);
    make_edge(a, end);
    make_edge(b, end);
    a.activate();
    b.activate();
    g.wait_for_all();
    for (auto& s : seen) ASSERT_EQ(s, 1);
  }
}

TEST(Graph, ReceiversOfTheProgram) {
  struct collector : receiver<int> {
    graph& g;
    std::vector<int> got;
    explicit collector(graph& owner) : g(owner) {}
    graph_task* try_put_task(const int& v) override {
      got.push_back(v);
      return tbb::flow::SUCCESSFULLY_ENQUEUED;
    }
    graph& graph_reference() const override { return g; }
  };
  graph g;
  collector c(g);
  broadcast_node<int> b(g);
  make_edge(b, c);
  b.try_put(1);
  c.try_put(2);
  EXPECT_EQ(c.got, (std::vector<int>{1, 2}));
}

}  // namespace
