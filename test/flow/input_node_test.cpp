// SPDX-License-Identifier: Apache-2.0
// input_node and source_node.
#include <tbb/flow_graph.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tbb::flow;

// Makes 0, 1, ... up to `count`.
struct numbers {
  int count;
  int next = 0;
  explicit numbers(int n) : count(n) {}
  int operator()(tbb::flow_control& control) {
    if (next == count) {
      control.stop();
      return -1;
    }
    return next++;
  }
  bool operator()(int& value) {
    value = next;
    return next++ < count;
  }
};

template <typename Node>
void expect_each_once(Node& source, graph& g, bool activates, int count) {
  std::vector<std::atomic<int>> seen(count);
  function_node<int> end(g, unlimited, [&](int i) { ++seen[i]; });
  make_edge(source, end);
  if (activates) {
    g.wait_for_all();
    for (auto& s : seen) EXPECT_EQ(s, 0);
    source.activate();
  }
  g.wait_for_all();
  for (auto& s : seen) EXPECT_EQ(s, 1);
  remove_edge(source, end);
}

TEST(InputNode, PushesEachMessageOnceItIsActive) {
  graph g;
  input_node<int> source(g, numbers(2000));
  expect_each_once(source, g, true, 2000);
  EXPECT_EQ(copy_body<numbers>(source).next, 2000);
}

TEST(InputNode, MakesNoMessageWithoutSuccessors) {
  graph g;
  input_node<int> source(g, numbers(3));
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(copy_body<numbers>(source).next, 0);
}

TEST(InputNode, TryGetAsksForAMessage) {
  graph g;
  input_node<int> source(g, numbers(2));
  int value = -1;
  EXPECT_FALSE(source.try_get(value));  // not active
  source.activate();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(source.try_get(value));
    g.wait_for_all();
    EXPECT_TRUE(source.try_get(value));
    EXPECT_EQ(value, i);
  }
  EXPECT_FALSE(source.try_get(value));
  g.wait_for_all();
  EXPECT_FALSE(source.try_get(value));
}

TEST(InputNode, AReservedMessageIsKept) {
  graph g;
  input_node<int> source(g, numbers(2));
  source.activate();
  int value = -1;
  EXPECT_FALSE(source.try_reserve(value));
  g.wait_for_all();
  EXPECT_TRUE(source.try_reserve(value));
  EXPECT_EQ(value, 0);
  EXPECT_FALSE(source.try_get(value));
  EXPECT_FALSE(source.try_reserve(value));
  EXPECT_TRUE(source.try_release());
  EXPECT_TRUE(source.try_reserve(value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(source.try_consume());
  EXPECT_FALSE(source.try_get(value));
  g.wait_for_all();
  EXPECT_TRUE(source.try_get(value));
  EXPECT_EQ(value, 1);
}

TEST(InputNode, ARejectingSuccessorPulls) {
  for (int limit = 1; limit < 4; ++limit) {
    graph g;
    input_node<int> source(g, numbers(2000));
    std::vector<std::atomic<int>> seen(2000);
    function_node<int, continue_msg, rejecting> end(g, limit, [&](int i) { ++seen[i]; });
    make_edge(source, end);
    source.activate();
    g.wait_for_all();
    for (auto& s : seen) EXPECT_EQ(s, 1);
  }
}

TEST(InputNode, SuccessorsThatComeLate) {
  graph g;
  input_node<int> source(g, numbers(3000));
  std::atomic<int> all{0};
  const auto body = [&](int) { ++all; };
  function_node<int, continue_msg, rejecting> a(g, 1, body);
  function_node<int, continue_msg, rejecting> b(g, 1, body);
  source.activate();
  make_edge(source, a);
  g.wait_for_all();
  EXPECT_EQ(all, 3000);
  make_edge(source, b);
  g.wait_for_all();
  EXPECT_EQ(all, 3000);
}

TEST(InputNode, ActivateBeginsAgainAfterTheEnd) {
  graph g;
  int left = 3;
  input_node<int> node(g, [&](tbb::flow_control& control) {
    if (left == 0) control.stop();
    return left == 0 ? 0 : left--;
  });
  std::vector<int> got;
  function_node<int> end(g, serial, [&](int i) { got.push_back(i); });
  make_edge(node, end);
  node.activate();
  g.wait_for_all();
  EXPECT_EQ(got, (std::vector<int>{3, 2, 1}));
  left = 2;
  node.activate();
  g.wait_for_all();
  EXPECT_EQ(got, (std::vector<int>{3, 2, 1, 2, 1}));
}

TEST(InputNode, ActivateBeforeTheEndIsSeen) {
  graph g;
  int calls = 0;
  input_node<int>* itself = nullptr;
  input_node<int> node(g, [&](tbb::flow_control& control) {
    control.stop();
    if (++calls == 1) itself->activate();
    return 0;
  });
  itself = &node;
  function_node<int> end(g, serial, [](int) {});
  make_edge(node, end);
  node.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 2);
}

TEST(InputNode, ResetAndCopy) {
  graph g;
  input_node<int> source(g, numbers(10));
  std::atomic<int> calls{0};
  function_node<int> end(g, unlimited, [&](int) { ++calls; });
  make_edge(source, end);
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 10);
  g.reset(rf_reset_bodies);
  g.wait_for_all();
  EXPECT_EQ(calls, 10);  // no longer active
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 20);
  g.reset();
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 20);  // the body has still ended
  input_node<int> copy(source);
  make_edge(copy, end);
  g.wait_for_all();
  EXPECT_EQ(calls, 20);
  copy.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 30);
  g.reset(reset_flags(rf_reset_bodies | rf_clear_edges));
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 30);
}

TEST(InputNode, AnExceptionOfTheBody) {
  graph g;
  bool throws = true;
  int made = 0;
  input_node<int> source(g, [&](tbb::flow_control& control) {
    if (throws && made == 5) throw std::runtime_error("five");
    if (made == 10) control.stop();
    return made++;
  });
  std::atomic<int> calls{0};
  function_node<int> end(g, unlimited, [&](int) { ++calls; });
  make_edge(source, end);
  source.activate();
  EXPECT_THROW(g.wait_for_all(), std::runtime_error);
  EXPECT_LE(calls, 5);
  throws = false;
  calls = 0;
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 5);
}

TEST(InputNode, Precedes) {
  graph g;
  std::atomic<int> calls{0};
  function_node<int> a(g, unlimited, [&](int) { ++calls; }), b(a);
  input_node<int> source(precedes(a, b), numbers(5));
  source.activate();
  g.wait_for_all();
  EXPECT_EQ(calls, 10);
#if __cplusplus >= 201703L
  input_node deduced(g, [](tbb::flow_control& c) -> int {
    c.stop();
    return 0;
  });
  static_assert(std::is_same<decltype(deduced), input_node<int>>::value);
#endif
}

TEST(SourceNode, PushesEachMessage) {
  graph g;
  source_node<int> late(g, numbers(2000), false);
  expect_each_once(late, g, true, 2000);
  source_node<int> early(g, numbers(2000));
  expect_each_once(early, g, false, 2000);
}

TEST(SourceNode, ResetActivatesItAgain) {
  graph g;
  source_node<int> source(g, numbers(10));
  std::atomic<int> calls{0};
  function_node<int> end(g, unlimited, [&](int) { ++calls; });
  make_edge(source, end);
  g.wait_for_all();
  EXPECT_EQ(calls, 10);
  g.reset(rf_reset_bodies);
  g.wait_for_all();
  EXPECT_EQ(calls, 20);
}

}  // namespace
