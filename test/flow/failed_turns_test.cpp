// SPDX-License-Identifier: Apache-2.0
// Nodes that reserve messages of their predecessors, when that is cancelled or fails: they go on
// after wait_for_all, without a reset of the graph.
#include "nodes.hpp"

#include <new>

namespace {

using namespace flow_test;
using pair = std::tuple<counted, counted>;

std::vector<int> firsts(const std::vector<pair>& pairs) {
  std::vector<int> all;
  for (const pair& p : pairs) all.push_back(std::get<0>(p).value);
  return all;
}

// Two queues with a message each, before a join that has no successor.
struct joined {
  graph g;
  queue_node<counted> left{g}, right{g};
  join_node<pair, reserving> join{g};
  gate<pair> closed{g, false}, end{g};

  joined() {
    make_edge(left, input_port<0>(join));
    make_edge(right, input_port<1>(join));
    // The join has the edges: the end has rejected the first pair.
    make_edge(join, closed);
    put(1);
    g.wait_for_all();
    EXPECT_GE(closed.offered, 1);
  }
  void put(int i) {
    left.try_put(counted(i));
    right.try_put(counted(i));
  }
};

TEST(ReservingJoin, GoesOnAfterATurnThatWasCancelled) {
  tbb::task_arena(1).execute([] {
    joined j;
    make_edge(j.join, j.end);  // starts a turn
    j.g.cancel();
    j.g.wait_for_all();
    EXPECT_TRUE(j.end.got.empty());
    j.put(2);
    j.g.wait_for_all();
    EXPECT_EQ(firsts(j.end.got), (std::vector<int>{1, 2}));
  });
}

TEST(ReservingJoin, GoesOnAfterATurnThatHasThrown) {
  tbb::task_arena(1).execute([] {
    joined j;
    counted::until_throw() = 1;  // the second port's message
    make_edge(j.join, j.end);
    EXPECT_THROW(j.g.wait_for_all(), std::runtime_error);
    counted::until_throw() = -1;
    j.put(2);
    j.g.wait_for_all();
    EXPECT_EQ(firsts(j.end.got), (std::vector<int>{1, 2}));
  });
}

// A queue with a message before a limiter that has reached its limit.
struct limited {
  graph g;
  queue_node<counted> queue{g};
  limiter_node<counted> limiter{g, 1};
  std::vector<int> got;
  function_node<counted> end{g, serial, [this](const counted& c) { got.push_back(c.value); }};

  limited() {
    make_edge(queue, limiter);
    make_edge(limiter, end);
    queue.try_put(counted(1));
    queue.try_put(counted(2));
    g.wait_for_all();
  }
  void decrement() { limiter.decrementer().try_put(continue_msg()); }
  void expect_goes_on() {
    queue.try_put(counted(3));
    g.wait_for_all();
    decrement();
    g.wait_for_all();
    EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
  }
};

TEST(Limiter, GoesOnAfterATurnThatWasCancelled) {
  tbb::task_arena(1).execute([] {
    limited l;
    l.decrement();  // starts a turn
    l.g.cancel();
    l.g.wait_for_all();
    l.expect_goes_on();
  });
}

TEST(Limiter, GoesOnAfterATurnThatHasThrown) {
  tbb::task_arena(1).execute([] {
    limited l;
    counted::until_throw() = 0;
    l.decrement();
    EXPECT_THROW(l.g.wait_for_all(), std::runtime_error);
    counted::until_throw() = -1;
    l.expect_goes_on();
  });
}

// ---- senders that throw -------------------------------------------------------------------------

// Has one message, and throws when its reservation ends.
struct throwing_sender : sender<int> {
  bool has_message = true;
  bool throws_on_release = false;
  int releases = 0;

  bool try_reserve(int& message) override {
    message = 1;
    return has_message;
  }
  bool try_release() override {
    ++releases;
    if (throws_on_release) throw std::bad_alloc();
    return true;
  }
  bool try_consume() override {
    has_message = false;
    throw std::bad_alloc();
  }
  bool register_successor(receiver<int>&) override { return true; }
  bool remove_successor(receiver<int>&) override { return true; }
};

// The message has been accepted when its sender fails: its task leaves the node.
template <typename T, typename Node, typename Register>
void expect_task_kept(const Register& registers) {
  tbb::task_arena(1).execute([&] {
    graph g;
    Node node(g);
    std::atomic<int> calls{0};
    function_node<T> end(g, serial, [&](const T&) { ++calls; });
    make_edge(static_cast<sender<T>&>(node), end);
    throwing_sender from;
    registers(node, from);
    EXPECT_THROW(g.wait_for_all(), std::bad_alloc);
    calls = 0;
    end.try_put(T());
    g.wait_for_all();
    EXPECT_EQ(calls, 1);
  });
}

TEST(Limiter, KeepsTheTaskOfAMessageWhoseSenderThrows) {
  struct limiter : limiter_node<int> {
    explicit limiter(graph& g) : limiter_node<int>(g, 1) {}
  };
  expect_task_kept<int, limiter>(
      [](receiver<int>& to, throwing_sender& from) { to.register_predecessor(from); });
}

TEST(ReservingJoin, KeepsTheTaskOfAMessageWhoseSenderThrows) {
  using single = join_node<std::tuple<int>, reserving>;
  expect_task_kept<std::tuple<int>, single>([](single& to, throwing_sender& from) {
    static_cast<receiver<int>&>(input_port<0>(to)).register_predecessor(from);
  });
}

// What the sender throws when the turn has failed already, is dropped.
template <typename T, typename Node, typename Register>
void expect_first_error(const Register& registers) {
  graph g;
  Node node(g);
  struct thrower : gate<T> {
    using gate<T>::gate;
    graph_task* try_put_task(const T&) override { throw std::runtime_error("receiver"); }
  } end(g);
  make_edge(static_cast<sender<T>&>(node), static_cast<receiver<T>&>(end));
  throwing_sender from;
  from.throws_on_release = true;
  registers(node, from);
  EXPECT_THROW(g.wait_for_all(), std::runtime_error);
  EXPECT_EQ(from.releases, 1);
}

TEST(Limiter, ThrowsTheFirstOfTwoErrors) {
  struct limiter : limiter_node<int> {
    explicit limiter(graph& g) : limiter_node<int>(g, 1) {}
  };
  expect_first_error<int, limiter>(
      [](receiver<int>& to, throwing_sender& from) { to.register_predecessor(from); });
}

TEST(ReservingJoin, ThrowsTheFirstOfTwoErrors) {
  using single = join_node<std::tuple<int>, reserving>;
  expect_first_error<std::tuple<int>, single>([](single& to, throwing_sender& from) {
    static_cast<receiver<int>&>(input_port<0>(to)).register_predecessor(from);
  });
}

}  // namespace
