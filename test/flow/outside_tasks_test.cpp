// SPDX-License-Identifier: Apache-2.0
// Messages that threads outside of the graph's arena put.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace tbb::flow;

constexpr int kThreads = 3, kMessages = 2000;

// Calls body(thread) in threads of their own.
template <typename Body>
void in_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& t : threads) t.join();
}

TEST(OutsideTasks, AllRun) {
  graph g;
  std::atomic<int> calls{0};
  function_node<int> node(g, unlimited, [&](int) { ++calls; });
  g.reserve_wait();
  std::thread all([&] {
    in_threads([&](int) {
      for (int i = 0; i < kMessages; ++i) node.try_put(i);
    });
    g.release_wait();
  });
  g.wait_for_all();
  EXPECT_EQ(calls, kThreads * kMessages);
  all.join();
}

// The graph is idle after each message, and may end.
TEST(OutsideTasks, AGraphEndsAfterEach) {
  in_threads([&](int) {
    for (int i = 0; i < 200; ++i) {
      std::unique_ptr<graph> g(new graph);
      std::atomic<int> calls{0};
      function_node<int> node(*g, unlimited, [&](int) { ++calls; });
      std::thread([&] {
        node.try_put(1);
        node.try_put(2);
      }).join();
      g->wait_for_all();
      EXPECT_EQ(calls, 2);
      g.reset();
    }
  });
}

// No thread waits, and the arena is one of a single thread, which does not look for tasks.
TEST(OutsideTasks, RunWithoutAWaitingThread) {
  tbb::task_arena narrow(1);
  std::unique_ptr<graph> g;
  narrow.execute([&] { g.reset(new graph); });
  std::atomic<int> calls{0};
  function_node<int> node(*g, unlimited, [&](int) { ++calls; });
  for (int round = 1; round <= 50; ++round) {
    in_threads([&](int) { node.try_put(0); });
    while (calls != round * kThreads) std::this_thread::yield();
  }
  g->wait_for_all();
}

// A waiting thread of the program takes the messages, its wait ends after the first of them, and
// no worker may come.
TEST(OutsideTasks, RunThoughTheWaitThatTookThemEnds) {
  const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
  graph g;
  tbb::task_group group;
  tbb::task_handle last = group.defer([] {});
  std::atomic<int> calls{0};
  function_node<int> node(g, unlimited, [&](int i) {
    if (i == 0) group.run(std::move(last));
    ++calls;
  });
  std::thread([&] {
    for (int i = 0; i < 3; ++i) node.try_put(i);
  }).join();
  group.wait();
  for (int i = 0; i < 20000 && calls < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(calls, 3);
  g.wait_for_all();
}

TEST(OutsideTasks, ASerialNodeKeepsTheOrderOfAThread) {
  graph g;
  struct Message {
    int thread, number;
  };
  std::vector<int> last(kThreads, -1);
  int wrong = 0;
  function_node<Message> node(g, serial, [&](const Message& m) {
    if (m.number != ++last[std::size_t(m.thread)]) ++wrong;
  });
  in_threads([&](int t) {
    for (int i = 0; i < kMessages; ++i) node.try_put(Message{t, i});
  });
  g.wait_for_all();
  EXPECT_EQ(wrong, 0);
  for (const int number : last) EXPECT_EQ(number, kMessages - 1);
}

TEST(OutsideTasks, ACancelledGraphDropsThem) {
  graph g;
  std::atomic<int> calls{0};
  function_node<int> node(g, unlimited, [&](int) {
    ++calls;
    g.cancel();
  });
  in_threads([&](int) {
    for (int i = 0; i < kMessages; ++i) node.try_put(i);
  });
  g.wait_for_all();
  EXPECT_TRUE(g.is_cancelled());
  EXPECT_GE(calls, 1);
  const int before = calls;
  node.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(calls, before + 1);
}

}  // namespace
