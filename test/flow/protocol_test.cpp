// SPDX-License-Identifier: Apache-2.0
// What nodes promise each other while several threads use them: waits, edges that change, and
// steps that fail between two others.
#include "nodes.hpp"

#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <chrono>
#include <functional>
#include <memory>

namespace {

using namespace flow_test;

void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// A message that waits in a node behind one that a thread outside of the graph works on.
struct behind {
  graph g;
  std::atomic<bool> begun{false}, may_end{false}, processed{false};
  std::function<void(int)> body = [this](int i) {
    if (i != 0) {
      processed = true;
      return;
    }
    begun = true;
    while (!may_end) std::this_thread::yield();
  };

  // `put` brings message 1. The wait that follows must not end before that has been processed.
  template <typename Node, typename Put>
  void check(Node& node, const Put& put) {
    std::thread first([&] { node.try_put(0); });
    while (!begun) std::this_thread::yield();
    put(1);
    std::thread opens([&] {
      sleep_a_little();
      may_end = true;
    });
    g.wait_for_all();
    EXPECT_TRUE(processed);
    opens.join();
    first.join();
  }
};

TEST(Waits, CoverAMessageBehindALightweightBody) {
  for (const std::size_t limit : {1, 2}) {
    behind b;
    function_node<int, continue_msg, lightweight> node(b.g, limit, [&](int i) noexcept {
      b.body(i);
      return continue_msg();
    });
    std::thread other;
    if (limit == 2) {  // takes the other slot
      other = std::thread([&] { node.try_put(0); });
      while (!b.begun) std::this_thread::yield();
      b.begun = false;
    }
    b.check(node, [&](int i) { node.try_put(i); });
    if (other.joinable()) other.join();
  }
}

TEST(Waits, CoverAMessageThatALightweightBodyPullsLater) {
  behind b;
  function_node<int, continue_msg, rejecting_lightweight> node(b.g, 1, [&](int i) noexcept {
    b.body(i);
    return continue_msg();
  });
  queue_node<int> queue(b.g);
  make_edge(queue, node);
  b.check(node, [&](int i) { queue.try_put(i); });
}

TEST(Waits, CoverAMessageThatALimiterPullsLater) {
  behind b;
  // Rejects the message of the other thread, in the end.
  struct rejecter : gate<int> {
    behind& b;
    explicit rejecter(behind& all) : gate<int>(all.g), b(all) {}
    graph_task* try_put_task(const int& i) override {
      b.body(i);
      return i == 0 ? nullptr : ::corbel::detail::successfully_enqueued();
    }
  } end(b);
  limiter_node<int> limiter(b.g, 1);
  queue_node<int> queue(b.g);
  make_edge(queue, limiter);
  make_edge(limiter, end);
  b.check(limiter, [&](int i) { queue.try_put(i); });
}

// Threads whose messages wait for each other's, in nodes of all kinds that keep or reject them.
template <typename Make>
void expect_own_message_processed(const Make& make) {
  constexpr int kEach = 20000;
  graph g;
  std::vector<std::atomic<int>> seen(2 * kEach);
  make(g, seen, [&](receiver<int>& in) {
    in_threads(2, [&](int t) {
      for (int i = 0; i < kEach; ++i) {
        in.try_put(t * kEach + i);
        g.wait_for_all();
        ASSERT_EQ(seen[std::size_t(t * kEach + i)], 1);
      }
    });
  });
}
template <typename Seen>
auto sees(Seen& seen) {
  return [&seen](int i) { ++seen[std::size_t(i)]; };
}

TEST(Waits, CoverMessagesOfTwoThreadsInQueues) {
  for (const std::size_t limit : {1, 2}) {
    expect_own_message_processed([limit](graph& g, auto& seen, const auto& run) {
      function_node<int> node(g, limit, sees(seen));
      run(node);
    });
  }
}

TEST(Waits, CoverMessagesOfTwoThreadsBeforeARejectingNode) {
  expect_own_message_processed([](graph& g, auto& seen, const auto& run) {
    queue_node<int> queue(g);
    function_node<int, continue_msg, rejecting> node(g, 1, sees(seen));
    make_edge(queue, node);
    run(queue);
  });
}

TEST(Waits, CoverMessagesOfTasksThatShareTheContext) {
  tbb::task_group_context context;
  graph g(context);
  std::atomic<int> ends{0};
  queue_node<int> queue(g);
  function_node<int> node(g, 1, [&](int) { ++ends; });
  make_edge(queue, node);
  tbb::task_group group(context);
  for (int i = 0; i < 2000; ++i) {
    group.run([&] { queue.try_put(0); });
    queue.try_put(0);
    group.wait();
    g.wait_for_all();
    ASSERT_EQ(ends, 2 * i + 2);
  }
}

// Blocks the thread that pulls from it.
struct slow_sender : sender<int> {
  std::atomic<bool> pulled{false}, may_end{false};
  std::atomic<int> edges{0};
  const bool has_message;
  explicit slow_sender(bool has) : has_message(has) {}
  bool try_get(int& message) override {
    pulled = true;
    while (!may_end) std::this_thread::yield();
    message = 1;
    return has_message;
  }
  bool register_successor(receiver<int>&) override {
    ++edges;
    return true;
  }
  bool remove_successor(receiver<int>&) override {
    int old = edges;
    while (old > 0 && !edges.compare_exchange_weak(old, old - 1)) continue;
    return old > 0;
  }
};

TEST(RemoveEdge, RemovesAnEdgeThatIsBeingPulled) {
  for (const bool has_message : {false, true}) {
    graph g;
    slow_sender from(has_message);
    std::atomic<int> calls{0};
    function_node<int, continue_msg, rejecting> node(g, 1, [&](int) { ++calls; });
    static_cast<receiver<int>&>(node).register_predecessor(from);
    std::thread waits([&] { g.wait_for_all(); });
    while (!from.pulled) std::this_thread::yield();
    remove_edge(static_cast<sender<int>&>(from), static_cast<receiver<int>&>(node));
    from.may_end = true;
    waits.join();
    EXPECT_EQ(from.edges, 0);
    // With the edge, the node would pull again.
    EXPECT_EQ(calls, has_message ? 1 : 0);
    from.pulled = false;
    node.try_put(2);
    g.wait_for_all();
    EXPECT_FALSE(from.pulled);
  }
}

TEST(RemoveEdge, RemovesEdgesThatChangeTheirKindAllTheTime) {
  for (int i = 0; i < 300; ++i) {
    graph g;
    queue_node<int> queue(g);
    std::atomic<int> calls{0};
    function_node<int, continue_msg, rejecting> node(g, 1, [&](int) { ++calls; });
    make_edge(queue, node);
    std::thread puts([&] {
      for (int k = 0; k < 30; ++k) queue.try_put(k);
    });
    for (int k = 0; k < i % 30; ++k) std::this_thread::yield();
    remove_edge(queue, node);
    puts.join();
    g.wait_for_all();
    const int before = calls;
    queue.try_put(100);
    node.try_put(101);
    g.wait_for_all();
    ASSERT_EQ(calls, before + 1);
  }
}

TEST(RemoveEdge, RemovesOneOfTwoEdgesThatPull) {
  graph g;
  queue_node<int> queue(g);
  limiter_node<int> limiter(g, 1);
  queue_node<int> end(g);
  make_edge(queue, limiter);
  make_edge(queue, limiter);
  make_edge(limiter, end);
  for (int i = 0; i < 2; ++i) {
    queue.try_put(i);
    g.wait_for_all();
  }
  int value = -1;
  EXPECT_TRUE(end.try_get(value));
  EXPECT_FALSE(end.try_get(value));
  remove_edge(queue, limiter);
  limiter.decrementer().try_put(continue_msg());
  g.wait_for_all();
  EXPECT_TRUE(end.try_get(value));
  EXPECT_EQ(value, 1);
}

// The task that is to make the edge one that pulls has not run yet.
TEST(RemoveEdge, RemovesAnEdgeThatWasRejectedAtOnce) {
  graph g;
  overwrite_node<int> value(g);
  std::atomic<bool> may_end{false};
  std::atomic<int> calls{0};
  function_node<int, continue_msg, rejecting> node(g, 1, [&](int) {
    while (!may_end) std::this_thread::yield();
    ++calls;
  });
  value.try_put(1);
  node.try_put(0);
  make_edge(value, node);
  remove_edge(value, node);
  may_end = true;
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
  value.try_put(2);
  g.wait_for_all();
  EXPECT_EQ(calls, 1);
}

// The task makes the edge one that pulls while another thread removes it.
TEST(RemoveEdge, RemovesAnEdgeThatIsBeingTakenOver) {
  graph g;
  overwrite_node<int> value(g);
  struct taker : gate<int> {
    std::function<void()> on_register;
    explicit taker(graph& graph) : gate<int>(graph, false, true) {}
    bool register_predecessor(sender<int>& from) override {
      on_register();
      return gate<int>::register_predecessor(from);
    }
  } to(g);
  std::atomic<bool> is_removed{false};
  std::thread remover;
  // The removal comes before the registration or after it, as a whole.
  to.on_register = [&] {
    remover = std::thread([&] {
      remove_edge(value, to);
      is_removed = true;
    });
    for (int i = 0; i < 5 && !is_removed; ++i) sleep_a_little();
  };
  value.try_put(1);
  make_edge(value, to);
  g.wait_for_all();
  ASSERT_TRUE(remover.joinable());
  remover.join();
  EXPECT_TRUE(to.predecessors.empty());
  to.open();
  value.try_put(2);
  EXPECT_TRUE(to.got.empty());
}

TEST(SingleValues, ASuccessorThatComesDuringAPutGetsTheMessage) {
  for (int i = 0; i < 5000; ++i) {
    graph g;
    write_once_node<int> node(g);
    std::atomic<int> got{0};
    function_node<int> end(g, serial, [&](int) { ++got; });
    in_threads(2, [&](int t) {
      if (t == 0) {
        node.try_put(1);
      } else {
        make_edge(node, end);
      }
    });
    g.wait_for_all();
    ASSERT_GE(got, 1) << i;
  }
}

TEST(Pulls, KeepTheEdgeIfTheAssignmentThrows) {
  graph g;
  std::atomic<int> calls{0};
  std::atomic<bool> may_end{false};
  queue_node<counted> queue(g);
  function_node<counted, continue_msg, rejecting> node(g, 1, [&](const counted& c) {
    if (c.value == 0) {
      while (!may_end) std::this_thread::yield();
      counted::until_throw() = 0;
    }
    ++calls;
  });
  make_edge(queue, node);
  node.try_put(counted(0));
  for (int i = 1; i < 4; ++i) queue.try_put(counted(i));
  may_end = true;
  EXPECT_THROW(g.wait_for_all(), std::runtime_error);
  counted::until_throw() = -1;
  queue.try_put(counted(4));
  g.wait_for_all();
  EXPECT_EQ(calls, 5);
}

TEST(Reset, CanBeRepeatedIfABodyCannotBeCopied) {
  struct body {
    bool* throws;
    explicit body(bool* t) : throws(t) {}
    body(const body& other) : throws(other.throws) {
      if (*throws) throw std::runtime_error("copy");
    }
    int operator()(int i) const { return i; }
  };
  graph g;
  bool throws = false;
  queue_node<int> queue(g);
  function_node<int, int> node(g, serial, body(&throws));
  gate<int> end(g);
  make_edge(queue, node);
  make_edge(node, end);
  throws = true;
  EXPECT_THROW(g.reset(rf_reset_bodies), std::runtime_error);
  throws = false;
  queue.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(end.got, std::vector<int>{1});
  g.reset(rf_reset_bodies);
  queue.try_put(2);
  g.wait_for_all();
  EXPECT_EQ(end.got, (std::vector<int>{1, 2}));
}

// Calls a function when it is assigned.
struct hooked {
  static std::function<void()>& hook() {
    static std::function<void()> f;
    return f;
  }
  hooked() = default;
  hooked(const hooked&) = default;
  hooked& operator=(const hooked&) {
    if (hook()) hook()();
    return *this;
  }
};

TEST(ReservingJoin, APullThatThrowsForgetsNoRequest) {
  graph g;
  queue_node<hooked> left(g), right(g);
  using pair = std::tuple<hooked, hooked>;
  join_node<pair, reserving> join(g);
  gate<pair> end(g);
  make_edge(left, input_port<0>(join));
  make_edge(right, input_port<1>(join));
  left.try_put(hooked());
  right.try_put(hooked());
  g.wait_for_all();
  hooked::hook() = [&] {
    hooked::hook() = nullptr;
    std::thread([&] { make_edge(join, end); }).join();
    throw std::runtime_error("assignment");
  };
  pair p;
  EXPECT_THROW(join.try_get(p), std::runtime_error);
  g.wait_for_all();
  EXPECT_EQ(end.got.size(), 1U);
}

TEST(Graph, TwoThreadsWaitForAGraphThatFails) {
  for (int i = 0; i < 300; ++i) {
    graph g;
    function_node<int> node(g, unlimited, [](int) { throw std::runtime_error("body"); });
    std::atomic<int> caught{0};
    in_threads(3, [&](int t) {
      if (t == 2) node.try_put(1);
      try {
        g.wait_for_all();
      } catch (const std::runtime_error&) {
        ++caught;
      }
    });
    try {
      g.wait_for_all();
    } catch (const std::runtime_error&) {
      ++caught;
    }
    EXPECT_GE(caught, 1);
  }
}

// Brings two threads to the ends of their waits, after both have seen that the graph is cancelled,
// and keeps one of them there.
class exit_gate : public tbb::task_scheduler_observer {
 public:
  explicit exit_gate(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {
    observe(true);
  }
  ~exit_gate() override { observe(false); }
  void on_scheduler_entry(bool) override {
    if (waits()) ++entered;
  }
  void on_scheduler_exit(bool) override {
    if (!waits()) return;
    if (is_kept()) keeps = true;
    while (is_kept() ? !may_exit : !keeps) std::this_thread::yield();
  }

  // Of the calling thread: whether it counts in `entered`, and whether it is kept.
  static bool& waits() {
    thread_local bool b = false;
    return b;
  }
  static bool& is_kept() {
    thread_local bool b = false;
    return b;
  }
  std::atomic<int> entered{0};
  std::atomic<bool> keeps{false}, may_exit{false};
};

// One wait gets the exception; the other one, which ends later, neither takes back what the graph
// says of it, nor the cancellation that came after it if the context is the program's.
TEST(Graph, AWaitThatGetsNoExceptionLeavesTheOutcome) {
  for (const bool keeps : {false, true}) {
    tbb::task_arena arena(4, 2);
    exit_gate exits(arena);
    tbb::task_group_context context(
        tbb::task_group_context::isolated,
        keeps ? tbb::task_group_context::concurrent_wait : tbb::task_group_context::default_traits);
    std::unique_ptr<graph> g;
    arena.execute([&] { g.reset(new graph(context)); });
    function_node<int> node(*g, serial, [&](int) {
      while (exits.entered < 2) std::this_thread::yield();
      throw std::runtime_error("body");
    });
    node.try_put(1);
    std::thread later([&] {
      exit_gate::waits() = exit_gate::is_kept() = true;
      EXPECT_NO_THROW(g->wait_for_all());
    });
    exit_gate::waits() = true;
    EXPECT_THROW(g->wait_for_all(), std::runtime_error);
    exit_gate::waits() = false;
    EXPECT_TRUE(g->is_cancelled());
    EXPECT_TRUE(g->exception_thrown());
    EXPECT_FALSE(context.is_group_execution_cancelled());
    if (keeps) g->cancel();
    exits.may_exit = true;
    later.join();
    EXPECT_TRUE(g->is_cancelled());
    EXPECT_TRUE(g->exception_thrown());
    EXPECT_EQ(context.is_group_execution_cancelled(), keeps);
  }
}

// Every exception comes out of one wait, whatever the other threads' waits do.
TEST(Graph, WaitsOfSeveralThreadsLoseNoException) {
  graph g;
  std::atomic<long> thrown{0}, caught{0};
  std::atomic<bool> stops{false};
  function_node<int> node(g, serial, [&](int) {
    ++thrown;
    throw std::runtime_error("body");
  });
  const auto wait = [&] {
    try {
      g.wait_for_all();
    } catch (const std::runtime_error&) {
      ++caught;
    }
  };
  std::thread other([&] {
    while (!stops) wait();
  });
  for (int i = 0; i < 100000; ++i) {
    node.try_put(1);
    wait();
  }
  stops = true;
  other.join();
  wait();
  EXPECT_EQ(caught, thrown);
}

}  // namespace
