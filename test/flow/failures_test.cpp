// SPDX-License-Identifier: Apache-2.0
// What the flow graph does when copying a message or allocating memory fails.
#include <tbb/flow_graph.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "failing_allocator.hpp"

namespace {

using namespace tbb::flow;

struct copy_error : std::runtime_error {
  copy_error() : std::runtime_error("copy") {}
};

// A message that counts its objects and whose copying may fail.
struct fragile {
  static std::atomic<int> objects;
  static std::atomic<int> copies_left;  // negative: no failure
  int value = 0;

  fragile() { ++objects; }
  explicit fragile(int v) : value(v) { ++objects; }
  fragile(const fragile& other) : value(other.value) {
    if (copies_left >= 0 && copies_left-- == 0) throw copy_error();
    ++objects;
  }
  fragile& operator=(const fragile& other) {
    if (copies_left >= 0 && copies_left-- == 0) throw copy_error();
    value = other.value;
    return *this;
  }
  ~fragile() { --objects; }
};
std::atomic<int> fragile::objects{0};
std::atomic<int> fragile::copies_left{-1};

// Some nodes of each kind in a row.
struct line {
  graph g;
  std::atomic<int> ends{0};
  int made = 0;
  input_node<fragile> source{g, [this](tbb::flow_control& control) {
                               if (made == 8) control.stop();
                               return fragile(++made);
                             }};
  function_node<fragile, fragile, rejecting> rejects{g, 1, [](const fragile& f) { return f; }};
  function_node<fragile, fragile> one{g, serial, [](const fragile& f) { return f; }};
  function_node<fragile, fragile> two{g, 2, [](const fragile& f) { return f; }};
  multifunction_node<fragile, std::tuple<fragile>> many{
      g, unlimited,
      [](const fragile& f, multifunction_node<fragile, std::tuple<fragile>>::output_ports_type& p) {
        std::get<0>(p).try_put(f);
      }};
  broadcast_node<fragile> fan{g};
  function_node<fragile> left{g, unlimited, [this](const fragile&) { ++ends; }};
  function_node<fragile> right{g, unlimited, [this](const fragile&) { ++ends; },
                               node_priority_t(2)};

  line() {
    make_edge(source, rejects);
    make_edge(rejects, one);
    make_edge(one, two);
    make_edge(two, many);
    make_edge(many, fan);
    make_edge(fan, left);
    make_edge(fan, right);
  }

  // Returns whether nothing has failed. Either all messages arrive, or an exception comes out.
  bool run() {
    int puts = 0;
    bool failed = false;
    const int before = ends;
    const int made_before = made;
    try {
      source.activate();
      for (; puts < 4; ++puts) one.try_put(fragile(puts));
    } catch (const copy_error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    try {
      g.wait_for_all();
    } catch (const copy_error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) {
      EXPECT_EQ(ends, before + 2 * (puts + made - made_before - (made > 8 ? 1 : 0)));
    }
    return !failed;
  }
};

// Lets the n-th step fail; returns whether nothing has failed. Otherwise the graph is as good as
// new after a reset.
template <typename Arm>
bool fail_at(int n, const Arm& arm) {
  line l;
  const no_spare_blocks held;
  arm(n);
  const bool succeeded = l.run();
  arm(-1);
  if (succeeded) return true;
  l.g.reset();
  l.made = 0;
  l.ends = 0;
  l.source.activate();
  for (int i = 0; i < 4; ++i) l.one.try_put(fragile(i));
  l.g.wait_for_all();
  EXPECT_GE(l.ends, 8) << "after failure " << n;
  EXPECT_EQ(l.ends % 2, 0) << "after failure " << n;
  return false;
}

template <typename Arm>
void fail_at_each(const Arm& arm) {
  bool succeeded = false;
  int failures = 0;
  while (!succeeded && failures < 3000) {
    // A new thread has no memory for tasks in its cache.
    std::thread([&] { succeeded = fail_at(failures, arm); }).join();
    if (!succeeded) ++failures;
  }
  EXPECT_TRUE(succeeded);
  // How many steps there are depends on which thread runs what, and on the memory in its cache.
  EXPECT_GT(failures, 0);
  EXPECT_EQ(fragile::objects, 0);
}

TEST(Failures, OfTheCopiesOfMessages) {
  fail_at_each([](int n) { fragile::copies_left = n; });
}

TEST(Failures, OfTheAllocator) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  for (const bool once : {true, false}) {
    fails_once = once;
    fail_at_each(arm);
  }
}

// ---- one kind of node at a time -----------------------------------------------------------------

// A node of the kind under test between the puts and `end`, which counts what comes.
struct part {
  static constexpr int kMessages = 40;
  graph g;
  std::atomic<int> ends[kMessages];
  function_node<fragile> end{g, serial, [this](const fragile& f) { ++ends[f.value]; }};
  part() { clear(); }
  virtual ~part() = default;
  // Returns false if the message is rejected.
  virtual bool put(int i) = 0;
  void clear() {
    for (auto& e : ends) e = 0;
  }
};

template <typename Node>
struct node_part : part {
  Node node;
  template <typename... Arguments>
  explicit node_part(Arguments... arguments) : node(g, arguments...) {
    connect(node);
  }
  template <typename T>
  void connect(sender<T>& from) {
    make_edge(from, end);
  }
  bool put(int i) override { return node.try_put(fragile(i)); }
};
struct less {
  bool operator()(const fragile& a, const fragile& b) const { return a.value < b.value; }
};
struct number {
  std::size_t operator()(const fragile& f) const { return std::size_t(f.value); }
};
struct same {
  fragile operator()(const fragile& f) const { return f; }
};

struct rejecting_part : node_part<queue_node<fragile>> {
  function_node<fragile, fragile, rejecting> rejects{g, 1, same()};
  rejecting_part() {
    remove_edge(node, end);
    make_edge(node, rejects);
    make_edge(rejects, end);
  }
};
struct limiter_part : node_part<queue_node<fragile>> {
  limiter_node<fragile> limiter{g, 1};
  using worker = multifunction_node<fragile, std::tuple<fragile, continue_msg>>;
  worker work{g, unlimited, [](const fragile& f, worker::output_ports_type& ports) {
                std::get<0>(ports).try_put(f);
                std::get<1>(ports).try_put(continue_msg());
              }};
  limiter_part() {
    remove_edge(node, end);
    make_edge(node, limiter);
    make_edge(limiter, work);
    make_edge(output_port<0>(work), end);
    make_edge(output_port<1>(work), limiter.decrementer());
  }
};
using pair = std::tuple<fragile, fragile>;
// Retries the second half of a pair by itself.
template <typename Node>
struct join_part : part {
  Node node;
  function_node<pair, fragile> first{g, unlimited, [](const pair& p) { return std::get<0>(p); }};
  bool has_first = false;
  template <typename... Arguments>
  explicit join_part(Arguments... arguments) : node(g, arguments...) {
    make_edge(node, first);
    make_edge(first, end);
  }
  bool put(int i) override {
    if (!has_first) input_port<0>(node).try_put(fragile(i));
    has_first = true;
    input_port<1>(node).try_put(fragile(i));
    has_first = false;
    return true;
  }
};
struct reserving_part : part {
  queue_node<fragile> left{g};
  priority_queue_node<fragile, less> right{g};
  join_node<pair, reserving> node{g};
  function_node<pair, fragile> first{g, unlimited, [](const pair& p) { return std::get<0>(p); }};
  bool has_first = false;
  reserving_part() {
    make_edge(left, input_port<0>(node));
    make_edge(right, input_port<1>(node));
    make_edge(node, first);
    make_edge(first, end);
  }
  bool put(int i) override {
    if (!has_first) left.try_put(fragile(i));
    has_first = true;
    right.try_put(fragile(i));
    has_first = false;
    return true;
  }
};
struct split_part : part {
  split_node<std::tuple<fragile>> split{g};
  indexer_node<fragile> indexer{g};
  using tagged = indexer_node<fragile>::output_type;
  function_node<tagged, fragile> first{g, 2, [](const tagged& t) { return t.cast_to<fragile>(); }};
  split_part() {
    make_edge(output_port<0>(split), input_port<0>(indexer));
    make_edge(indexer, first);
    make_edge(first, end);
  }
  bool put(int i) override { return split.try_put(std::tuple<fragile>(fragile(i))); }
};
struct async_part : part {
  using async = async_node<fragile, fragile>;
  async node{g, 1, [](const fragile& f, async::gateway_type& gateway) { gateway.try_put(f); }};
  async_part() { make_edge(output_port<0>(node), end); }
  bool put(int i) override { return node.try_put(fragile(i)); }
};

// Lets allocation number n fail. A put that throws has not been accepted, and is repeated with
// memory. Then each message comes out once, unless the wait says that the graph has failed; after a
// reset each does. Returns whether nothing has failed.
template <typename Part>
bool part_fails_at(int n, bool from_outside) {
  std::unique_ptr<Part> p;
  tbb::task_arena arena(2);
  if (from_outside) {
    arena.execute([&] { p.reset(new Part); });
  } else {
    p.reset(new Part);
  }
  bool failed = false, cancelled = false;
  const auto wait = [&] {
    try {
      p->g.wait_for_all();
    } catch (const std::bad_alloc&) {
      failed = true;
      cancelled = cancelled || p->g.exception_thrown();
    }
  };
  const auto run = [&] {
    for (int i = 0; i < part::kMessages; ++i) {
      try {
        p->put(i);
      } catch (const std::bad_alloc&) {
        failed = true;
        arm(-1);
        p->put(i);
      }
    }
    wait();
    arm(-1);
    wait();  // the first one may not have had the memory to wait
  };
  const auto expect_all = [&] {
    for (int i = 0; i < part::kMessages; ++i) EXPECT_EQ(p->ends[i], 1) << i << " after " << n;
  };
  const no_spare_blocks held;
  arm(n);
  run();
  if (!cancelled) expect_all();
  p->g.reset();
  p->clear();
  const bool has_failed = failed;
  run();
  expect_all();
  return !has_failed;
}

template <typename Part>
void part_fails_at_each(const char* what) {
  SCOPED_TRACE(what);
  for (const bool once : {true, false}) {
    fails_once = once;
    // Some allocations are made in certain runs only, so a run without failure does not end this.
    for (const bool from_outside : {false, true}) {
      for (int n = 0, succeeded = 0; succeeded < 5; ++n) {
        std::thread([&] { succeeded += part_fails_at<Part>(n, from_outside) ? 1 : 0; }).join();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(fragile::objects, 0);
}

template <typename Node, typename... Arguments>
struct plain_part : node_part<Node> {
  plain_part() : node_part<Node>(Arguments()...) {}
};

TEST(Failures, OfTheAllocatorLoseNoMessageOfAnyKindOfNode) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  part_fails_at_each<plain_part<queue_node<fragile>>>("queue");
  part_fails_at_each<plain_part<buffer_node<fragile>>>("buffer");
  part_fails_at_each<plain_part<priority_queue_node<fragile, less>>>("priority queue");
  part_fails_at_each<plain_part<sequencer_node<fragile>, number>>("sequencer");
  part_fails_at_each<rejecting_part>("rejecting");
  part_fails_at_each<limiter_part>("limiter");
  part_fails_at_each<join_part<join_node<pair>>>("join");
  using keyed = join_node<pair, key_matching<std::size_t>>;
  struct keyed_part : join_part<keyed> {
    keyed_part() : join_part<keyed>(number(), number()) {}
  };
  part_fails_at_each<keyed_part>("key matching");
  part_fails_at_each<reserving_part>("reserving");
  part_fails_at_each<split_part>("split and indexer");
  part_fails_at_each<async_part>("async");
}

// ---- a pull that starts under the lock of a sender
// ------------------------------------------------

struct one_message : sender<int> {
  std::atomic<int> left{1}, edges{0};
  bool try_get(int& message) override {
    if (left == 0) return false;
    message = 7;
    --left;
    return true;
  }
  bool register_successor(receiver<int>&) override {
    ++edges;
    return true;
  }
  bool remove_successor(receiver<int>&) override { return false; }
};

// Without memory for the task the graph fails, but the edge stays: the node pulls later.
TEST(Failures, OfTheAllocatorWhenAPullStarts) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  fails_once = false;
  int failures = 0, refused = 0;
  for (int n = 0; n < 8; ++n) {
    std::thread([&] {
      one_message from;
      graph g;
      std::atomic<int> sum{0};
      function_node<int, continue_msg, rejecting> node(g, 1, [&](int i) { sum += i; });
      bool is_registered = true;
      const no_spare_blocks held;
      arm(n);
      try {
        static_cast<receiver<int>&>(node).register_predecessor(from);
      } catch (const std::bad_alloc&) {
        is_registered = false;
        ++refused;
      }
      arm(-1);
      try {
        g.wait_for_all();
      } catch (const std::bad_alloc&) {
        ++failures;
        EXPECT_EQ(from.left, 1);
      }
      EXPECT_TRUE(node.try_put(1));
      g.wait_for_all();
      EXPECT_EQ(sum, is_registered ? 8 : 1) << n;
      EXPECT_EQ(from.edges, is_registered ? 1 : 0) << n;
    }).join();
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failures, 0);
}

}  // namespace
