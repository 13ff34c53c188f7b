// SPDX-License-Identifier: Apache-2.0
// What limiters and reserving joins do when there is no memory.
#include "nodes.hpp"

#include <tbb/task_arena.h>

#include <memory>
#include <new>
#include <thread>

#include "failing_allocator.hpp"

namespace {

using namespace flow_test;

// Takes the memory away from what follows, and throws.
template <typename T>
struct greedy : receiver<T> {
  graph& g;
  bool fails = false;
  std::unique_ptr<no_spare_blocks> held;
  explicit greedy(graph& of) : g(of) {}
  graph_task* try_put_task(const T&) override {
    if (fails) {
      held.reset(new no_spare_blocks);
      arm(0);
      throw 7;
    }
    return corbel::detail::successfully_enqueued();
  }
  graph& graph_reference() const override { return g; }
};

// A node that makes messages has one reserved when the successor of the node that reserves throws.
// It has other successors, so it starts its task again, for which there is no memory.
template <typename T, typename Connect>
void expect_first_error(const Connect& connect) {
  std::thread([&] {
    tbb::task_arena(1).execute([&] {
      graph g;
      int made = 0;
      input_node<int> source(g, [&](tbb::flow_control&) { return ++made; });
      gate<int> other(g, false);
      make_edge(source, other);
      greedy<T> end(g);
      connect(g, source, end);
      arm(-1);
      end.held.reset();
      EXPECT_TRUE(g.exception_thrown());
    });
  }).join();
}

TEST(ReservationFailures, WhileAnExceptionIsOnItsWay) {
  if (!kCanFail) GTEST_SKIP();
  fails_once = true;
  expect_first_error<int>([](graph& g, input_node<int>& source, greedy<int>& end) {
    limiter_node<int> limiter(g, 1);
    make_edge(source, limiter);
    make_edge(limiter, end);
    source.activate();
    g.wait_for_all();
    end.fails = true;
    limiter.decrementer().try_put(continue_msg());
    EXPECT_THROW(g.wait_for_all(), int);
    EXPECT_LT(allocations_left, 0);
  });
  using single = std::tuple<int>;
  expect_first_error<single>([](graph& g, input_node<int>& source, greedy<single>& end) {
    join_node<single, reserving> join(g);
    make_edge(source, input_port<0>(join));
    make_edge(join, end);
    end.fails = true;
    source.activate();
    EXPECT_THROW(g.wait_for_all(), int);
    EXPECT_LT(allocations_left, 0);
  });
}

// A sender without messages that counts its push edges.
struct empty_sender : sender<int> {
  std::atomic<int> edges{0};
  bool register_successor(receiver<int>&) override {
    ++edges;
    return true;
  }
  bool remove_successor(receiver<int>&) override { return false; }
};

// Without memory for the task that reserves a message the node does not take over the edge, since
// it would not start another one later.
template <typename T, typename Make>
void expect_edge_refused(const Make& with_node) {
  fails_once = false;
  int failures = 0;
  for (int n = 0; n < 8; ++n) {
    std::thread([&] {
      // One thread: the task runs with memory.
      tbb::task_arena(1).execute([&] {
        graph g;
        with_node(g, [&](sender<T>& node, receiver<int>& input) {
          gate<T> end(g);
          make_edge(node, end);
          empty_sender from;
          const no_spare_blocks held;
          bool is_registered = false;
          arm(n);
          try {
            is_registered = input.register_predecessor(from);
          } catch (const std::bad_alloc&) {
          }
          arm(-1);
          bool failed = false;
          try {
            g.wait_for_all();
          } catch (const std::bad_alloc&) {
            failed = true;
            ++failures;
          }
          // With a task the edge has become one that pushes: there was no message to reserve.
          EXPECT_EQ(from.edges, is_registered ? 1 : 0) << n;
          EXPECT_FALSE(is_registered && failed) << n;
          EXPECT_FALSE(input.remove_predecessor(from)) << n;
        });
      });
    }).join();
  }
  EXPECT_GT(failures, 0);
}

TEST(ReservationFailures, WhenATurnStarts) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  expect_edge_refused<int>([](graph& g, const auto& run) {
    limiter_node<int> limiter(g, 1);
    run(limiter, limiter);
  });
  expect_edge_refused<std::tuple<int>>([](graph& g, const auto& run) {
    join_node<std::tuple<int>, reserving> join(g);
    run(join, input_port<0>(join));
  });
}

}  // namespace
