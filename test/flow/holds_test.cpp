// SPDX-License-Identifier: Apache-2.0
// When nodes let go of a message for which try_put_and_wait waits: not before they are done with
// it, since the program may destroy the node then.
#define TBB_PREVIEW_FLOW_GRAPH_RESOURCE_LIMITING 1
#include "nodes.hpp"

#include <functional>

namespace {

using namespace flow_test;

// A message's wait, without a thread that waits.
class held_wait {
 public:
  template <typename T>
  void put(receiver<T>& to, const T& message) {
    const message_metainfo info = take();
    graph_task* const next = to.try_put_task(message, info);
    ASSERT_NE(next, nullptr);
    if (::corbel::detail::is_task(next)) ::corbel::detail::submit(*next);
  }
  // The only hold.
  message_metainfo take() { return message_metainfo(&wait_); }
  bool is_over() const { return wait_.holds.is_done(); }

 private:
  ::corbel::detail::message_wait wait_;
};

// Calls a function with the number of the call when it is asked for a message.
struct asked_sender : sender<int> {
  std::function<void(int)> on_asked;
  int calls = 0;
  int left = 0;
  message_metainfo info;  // of all messages that are left

  bool try_get(int&) override {
    on_asked(++calls);
    return false;
  }
  bool try_reserve(int& message) override {
    message_metainfo dropped;
    return try_reserve(message, dropped);
  }
  bool try_reserve(int& message, message_metainfo& to) override {
    if (on_asked) on_asked(++calls);
    if (left == 0) return false;
    message = left;
    to = info;
    return true;
  }
  bool try_release() override { return true; }
  bool try_consume() override {
    --left;
    info.clear();
    return true;
  }
  bool register_successor(receiver<int>&) override { return true; }
  bool remove_successor(receiver<int>&) override { return true; }
};

TEST(Holds, LastUntilAFunctionNodeIsLeft) {
  held_wait wait;
  graph g;
  asked_sender from;
  bool is_over = true;
  from.on_asked = [&](int) { is_over = wait.is_over(); };
  // The task that leaves the node asks the sender.
  function_node<int, continue_msg, rejecting>* self = nullptr;
  function_node<int, continue_msg, rejecting> node(
      g, serial, [&](int) { static_cast<receiver<int>*>(self)->register_predecessor(from); });
  self = &node;
  wait.put(node, 1);
  g.wait_for_all();
  EXPECT_GE(from.calls, 1);
  EXPECT_FALSE(is_over);
  EXPECT_TRUE(wait.is_over());
}

// A message that looks at a wait at the end of its life in a task.
struct noticing {
  static std::function<void()>& notice() {
    static std::function<void()> f;
    return f;
  }
  ~noticing() {
    if (notice()) notice()();
  }
};

TEST(Holds, LastUntilAResourceLimitedNodeIsLeft) {
  held_wait wait;
  graph g;
  resource_limiter<int> limiter(1);
  bool is_over = true;
  using limited = resource_limited_node<noticing, std::tuple<int>>;
  limited node(g, serial, std::tie(limiter),
               [&](const noticing&, limited::output_ports_type&, int&) {
                 noticing::notice() = [&] { is_over = wait.is_over(); };
               });
  const noticing message;
  wait.put(node, message);
  g.wait_for_all();
  noticing::notice() = nullptr;
  EXPECT_FALSE(is_over);
  EXPECT_TRUE(wait.is_over());
}

struct noticing_less {
  static std::function<void()>& notice() {
    static std::function<void()> f;
    return f;
  }
  bool operator()(int a, int b) const {
    if (notice()) notice()();
    return a < b;
  }
};

TEST(Holds, LastUntilABufferLooksForTheNextMessage) {
  held_wait wait;
  graph g;
  priority_queue_node<int, noticing_less> queue(g);
  gate<int> end(g);
  wait.put(queue, 5);
  for (int i = 0; i < 4; ++i) queue.try_put(i);
  // Whether the wait was over while the buffer looked for message number i.
  bool was_over[8] = {};
  noticing_less::notice() = [&] {
    if (end.got.size() < 8) was_over[end.got.size()] = wait.is_over();
  };
  make_edge(queue, end);
  g.wait_for_all();
  noticing_less::notice() = nullptr;
  EXPECT_EQ(end.got, (std::vector<int>{5, 3, 2, 1, 0}));
  EXPECT_FALSE(was_over[0]);
  EXPECT_FALSE(was_over[1]);
  EXPECT_TRUE(was_over[2]);  // not longer than that
  EXPECT_TRUE(wait.is_over());
}

// Offers `node` one message through `from`; the wait must not be over when the node has passed the
// message on and asks for another one.
template <typename Register>
void expect_held_until_asked_again(graph& g, asked_sender& from, const Register& registers) {
  held_wait wait;
  bool was_over[3] = {};
  from.left = 1;
  from.info = wait.take();
  from.on_asked = [&](int call) {
    if (call <= 2) was_over[call] = wait.is_over();
  };
  registers();
  g.wait_for_all();
  ASSERT_GE(from.calls, 2);
  EXPECT_FALSE(was_over[1]);
  EXPECT_FALSE(was_over[2]);
  EXPECT_TRUE(wait.is_over());
}

TEST(Holds, LastUntilALimiterLooksForTheNextMessage) {
  graph g;
  limiter_node<int> limiter(g, 2);
  gate<int> end(g);
  make_edge(limiter, end);
  asked_sender from;
  expect_held_until_asked_again(
      g, from, [&] { static_cast<receiver<int>&>(limiter).register_predecessor(from); });
  EXPECT_EQ(end.got.size(), 1U);
}

TEST(Holds, LastUntilAReservingJoinLooksForTheNextMessages) {
  graph g;
  using pair = std::tuple<int, int>;
  join_node<pair, reserving> join(g);
  gate<pair> end(g);
  make_edge(join, end);
  asked_sender from, other;
  other.left = 2;
  static_cast<receiver<int>&>(input_port<1>(join)).register_predecessor(other);
  expect_held_until_asked_again(g, from, [&] {
    static_cast<receiver<int>&>(input_port<0>(join)).register_predecessor(from);
  });
  EXPECT_EQ(end.got.size(), 1U);
}

}  // namespace
