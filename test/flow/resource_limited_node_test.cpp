// SPDX-License-Identifier: Apache-2.0
// resource_limiter, resource_limited_node.
#define TBB_PREVIEW_FLOW_GRAPH_RESOURCE_LIMITING 1
#include <tbb/flow_graph.h>

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;

// Counts its users.
struct resource {
  std::atomic<int> users{0};
};
struct use {
  resource& r;
  explicit use(resource& of) : r(of) { EXPECT_EQ(r.users++, 0); }
  ~use() { --r.users; }
};

template <typename Handle>
std::size_t count_handles(resource_limiter<Handle>& limiter) {
  // A body for each handle, all at the same time: as many as there are.
  graph g;
  std::atomic<int> most{0}, now{0};
  using node_type = resource_limited_node<int, std::tuple<int>>;
  node_type node(g, unlimited, std::tie(limiter),
                 [&](int, typename node_type::output_ports_type&, Handle&) {
                   const int n = ++now;
                   int m = most;
                   while (m < n && !most.compare_exchange_weak(m, n)) continue;
                   --now;
                 });
  for (int i = 0; i < 50; ++i) node.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(now, 0);
  return std::size_t(most.load());
}

TEST(ResourceLimiter, HasManyConstructors) {
  resource_limiter<int> list{1, 2, 3};
  const std::vector<int> v = {1, 2};
  resource_limiter<int> container(v), range(v.begin(), v.end());
  std::list<long> longs = {1, 2};
  resource_limiter<int> converted(longs);
  resource_limiter<std::unique_ptr<int>> unique{std::unique_ptr<int>(new int(1))};
  resource_limiter<std::unique_ptr<int>> two(std::unique_ptr<int>(new int(1)),
                                             std::unique_ptr<int>(new int(2)));
  resource_limiter<std::pair<int, int>> pieces(std::piecewise_construct,
                                               std::forward_as_tuple(1, 2), std::make_tuple(3, 4));
  auto init = {resource_limiter<int>::resource_handle_type(4)};
  resource_limiter<int> from_init(init);
  int x = 0;
  resource_limiter<int*> pointer{&x};
  EXPECT_LE(count_handles(list), 3u);
  EXPECT_LE(count_handles(container), 2u);
  EXPECT_EQ(count_handles(from_init), 1u);
  EXPECT_EQ(count_handles(pointer), 1u);
  EXPECT_EQ(count_handles(unique), 1u);
  EXPECT_LE(count_handles(pieces), 2u);
}

TEST(ResourceLimitedNode, BodiesHaveTheirHandlesExclusively) {
  resource a, b, c[2];
  resource_limiter<resource*> la{&a}, lb{&b}, lc{&c[0], &c[1]};
  graph g;
  std::atomic<int> calls{0};
  using node = resource_limited_node<int, std::tuple<int>>;
  using ports = node::output_ports_type;
  node n1(g, unlimited, std::tie(la, lb), [&](const int& v, ports& p, resource*& x, resource*& y) {
    const use ux(*x), uy(*y);
    std::get<0>(p).try_put(v);
    ++calls;
  });
  node n2(g, 2, std::tie(lb, la), [&](int v, ports& p, resource* x, resource* y) {
    const use ux(*x), uy(*y);
    std::get<0>(p).try_put(v);
    ++calls;
  });
  node n3(g, serial, std::tie(lc), [&](int, ports&, resource*& x) {
    const use ux(*x);
    ++calls;
  });
  node n4(g, unlimited, std::tie(lc, lc), [&](int, ports&, resource*& x, resource*& y) {
    EXPECT_NE(x, y);
    const use ux(*x), uy(*y);
    ++calls;
  });
  node n5(g, unlimited, std::tie(la, lb, lc),
          [&](int, ports&, resource*& x, resource*& y, resource*& z) {
            const use ux(*x), uy(*y), uz(*z);
            ++calls;
          });
  queue_node<int> end(g);
  make_edge(output_port<0>(n1), end);
  make_edge(n2, end);
  in_threads(3, [&](int) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(n1.try_put(i));
      n2.try_put(i);
      n3.try_put(i);
      n4.try_put(i);
      n5.try_put(i);
    }
    g.wait_for_all();
  });
  g.wait_for_all();
  EXPECT_EQ(calls, 5 * 900);
  EXPECT_EQ(take_all<int>(end).size(), 2 * 900u);
}

TEST(ResourceLimitedNode, GraphsShareLimiters) {
  resource a;
  resource_limiter<resource*> limiter{&a};
  std::atomic<int> calls{0};
  in_threads(3, [&](int) {
    graph g;
    using node = resource_limited_node<int, std::tuple<int>>;
    node n(g, unlimited, std::tie(limiter), [&](int, node::output_ports_type&, resource*& x) {
      const use ux(*x);
      ++calls;
    });
    for (int i = 0; i < 500; ++i) n.try_put(i);
    g.wait_for_all();
  });
  EXPECT_EQ(calls, 1500);
}

TEST(ResourceLimitedNode, KeepsTheOrderOfASerialNode) {
  resource_limiter<int> limiter{1};
  graph g;
  std::vector<int> got;
  using node = resource_limited_node<int, std::tuple<int>>;
  node n(g, serial, std::tie(limiter),
         [&](int v, node::output_ports_type&, int&) { got.push_back(v); });
  for (int i = 0; i < 100; ++i) n.try_put(i);
  g.wait_for_all();
  ASSERT_EQ(got.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[std::size_t(i)], i);
}

TEST(ResourceLimitedNode, AnExceptionReturnsTheHandles) {
  resource_limiter<int> limiter{1};
  graph g;
  std::atomic<int> calls{0};
  using node = resource_limited_node<int, std::tuple<int>>;
  node n(g, unlimited, std::tie(limiter), [&](int v, node::output_ports_type&, int&) {
    ++calls;
    if (v < 0) throw std::runtime_error("body");
  });
  for (int round = 0; round < 5; ++round) {
    n.try_put(-1);
    for (int i = 0; i < 20; ++i) n.try_put(i);
    EXPECT_THROW(g.wait_for_all(), std::runtime_error);
    g.reset();
    calls = 0;
    for (int i = 0; i < 20; ++i) n.try_put(i);
    g.wait_for_all();
    EXPECT_EQ(calls, 20);
  }
}

TEST(ResourceLimitedNode, ACancelledGraphReturnsTheHandles) {
  resource_limiter<int> limiter{1};
  graph g;
  std::atomic<int> calls{0};
  using node = resource_limited_node<int, std::tuple<int>>;
  node n(g, 2, std::tie(limiter), [&](int, node::output_ports_type&, int&) { ++calls; });
  for (int i = 0; i < 50; ++i) n.try_put(i);
  g.cancel();
  g.wait_for_all();
  g.reset(rf_reset_bodies);
  calls = 0;
  n.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
}

struct counting_body {
  int count = 0;
  template <typename Ports>
  void operator()(int, Ports& ports, int&) {
    std::get<0>(ports).try_put(++count);
  }
};

TEST(ResourceLimitedNode, CopiesHaveTheOriginalBody) {
  resource_limiter<int> limiter{1};
  graph g;
  using node = resource_limited_node<int, std::tuple<int>>;
  node n(g, serial, std::tie(limiter), counting_body());
  queue_node<int> end(g);
  make_edge(output_port<0>(n), end);
  n.try_put(0);
  n.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(take_all<int>(end), (std::vector<int>{1, 2}));
  EXPECT_EQ(copy_body<counting_body>(n).count, 2);
  node copy(n);
  EXPECT_EQ(copy_body<counting_body>(copy).count, 0);
  make_edge(output_port<0>(copy), end);
  copy.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(take_all<int>(end), std::vector<int>{1});
  g.reset(rf_reset_bodies);
  n.try_put(0);
  g.wait_for_all();
  EXPECT_EQ(take_all<int>(end), std::vector<int>{1});
}

TEST(ResourceLimitedNode, PhilosophersDine) {
  struct chopstick {};
  constexpr std::size_t kPhilosophers = 4;
  std::vector<resource_limiter<chopstick>> chopsticks;
  chopsticks.reserve(kPhilosophers);
  for (std::size_t i = 0; i < kPhilosophers; ++i) {
    auto init = {chopstick()};
    chopsticks.emplace_back(init);
  }
  graph g;
  using eat_node = resource_limited_node<int, std::tuple<int>>;
  using think_node = function_node<int, int>;
  std::vector<std::unique_ptr<think_node>> thinkers;
  std::vector<std::unique_ptr<eat_node>> eaters;
  std::atomic<int> meals{0};
  for (std::size_t i = 0; i < kPhilosophers; ++i) {
    thinkers.emplace_back(new think_node(g, unlimited, [](int left) { return left; }));
    eaters.emplace_back(
        new eat_node(g, unlimited, std::tie(chopsticks[i], chopsticks[(i + 1) % kPhilosophers]),
                     [&](int left, eat_node::output_ports_type& ports, chopstick&, chopstick&) {
                       ++meals;
                       if (left > 1) std::get<0>(ports).try_put(left - 1);
                     }));
    make_edge(*thinkers[i], *eaters[i]);
    make_edge(output_port<0>(*eaters[i]), *thinkers[i]);
  }
  for (auto& t : thinkers) t->try_put(100);
  g.wait_for_all();
  EXPECT_EQ(meals, 400);
}

}  // namespace
