// SPDX-License-Identifier: Apache-2.0
// The parts of random graphs: each takes messages, does something with nodes of some kinds, and
// passes messages on.
#ifndef CORBEL_TEST_FLOW_RANDOM_STAGES_HPP
#define CORBEL_TEST_FLOW_RANDOM_STAGES_HPP

#include <tbb/flow_graph.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace random_graph {

using namespace tbb::flow;

// Whether what a serial node puts comes out in the order in which it has come: oneTBB's may begin
// with the next message before it puts the last result. Whether try_put_and_wait follows a message
// through a multifunction_node. Whether the function of a sequencer may throw: oneTBB's node hangs.
#ifdef CORBEL_FLOW_GRAPH_HPP
constexpr bool kKeepsOrder = true, kTracksPorts = true, kSequencersThrow = true;
#else
constexpr bool kKeepsOrder = false, kTracksPorts = false, kSequencersThrow = false;
#endif

// Counts its objects.
struct message {
  static std::atomic<long>& alive() {
    static std::atomic<long> n{0};
    return n;
  }
  int id = 0;
  long value = 0;

  message() { ++alive(); }
  message(int i, long v) : id(i), value(v) { ++alive(); }
  message(const message& other) : id(other.id), value(other.value) { ++alive(); }
  message& operator=(const message&) = default;
  ~message() { --alive(); }
  friend bool operator<(const message& a, const message& b) {
    return std::tie(a.id, a.value) < std::tie(b.id, b.value);
  }
};
using message_sink = function_node<message>;

// The number of the message for which a body throws.
inline std::atomic<int>& bomb() {
  static std::atomic<int> id{-1};
  return id;
}

inline void may_throw(const message& m) {
  if (m.id == bomb()) throw std::runtime_error("bomb");
}

// What all bodies compute.
struct step {
  long factor, addend;
  message operator()(const message& m) const {
    may_throw(m);
    return quiet(m);
  }
  message quiet(const message& m) const { return message(m.id, m.value * factor + addend); }
};
struct quiet_step {
  step s;
  message operator()(const message& m) const noexcept { return s.quiet(m); }
};

class stage {
 public:
  explicit stage(const char* k) : kind(k) {}
  virtual ~stage() = default;
  virtual receiver<message>& in() = 0;
  virtual sender<message>& out() = 0;
  virtual void connect() {}  // makes the edges between its nodes
  virtual void prepare() {}  // after a reset
  virtual void begin() {}    // before a run
  virtual void model(std::vector<message>& all) {
    for (message& m : all) m = change.quiet(m);
  }
  virtual void check(int, bool) {}

  const char* const kind;
  bool keeps_order = false;
  // Whether try_put_and_wait waits for a message of the same number to come out.
  bool can_wait = true;
  step change{1, 0};
};

using node = function_node<message, message>;

// A function node: serial, limited or unlimited, perhaps with a priority.
struct function_stage : stage {
  node f;
  function_stage(graph& g, step s, int limit, node_priority_t p)
      : stage(limit == 1 ? "serial" : "function"), f(g, std::size_t(limit), s, p) {
    keeps_order = limit == 1;
    change = s;
  }
  receiver<message>& in() override { return f; }
  sender<message>& out() override { return f; }
};

struct lightweight_stage : stage {
  function_node<message, message, lightweight> f;
  lightweight_stage(graph& g, step s, int limit)
      : stage("lightweight"), f(g, std::size_t(limit), quiet_step{s}) {
    change = s;
  }
  receiver<message>& in() override { return f; }
  sender<message>& out() override { return f; }
};

// A buffer, and a node that rejects what it cannot work on at once.
template <typename Buffer>
struct rejecting_stage : stage {
  Buffer buffer;
  function_node<message, message, rejecting> f;
  rejecting_stage(graph& g, step s, int limit, bool keeps)
      : stage(keeps ? "queue+rejecting" : "buffer+rejecting"),
        buffer(g),
        f(g, std::size_t(limit), s) {
    keeps_order = keeps && limit == 1;
    change = s;
  }
  receiver<message>& in() override { return buffer; }
  sender<message>& out() override { return f; }
  void connect() override { make_edge(buffer, f); }
};

// Numbers messages, mixes them up, and puts them into their order again.
struct sequencer_stage : stage {
  using numbered = std::pair<message, std::size_t>;
  std::size_t next = 0, expected = 0;
  std::atomic<int> wrong{0};
  function_node<message, numbered> number;
  function_node<numbered, numbered> mix;
  sequencer_node<numbered> sequencer;
  function_node<numbered, message> end;
  explicit sequencer_stage(graph& g)
      : stage("sequencer"),
        number(g, serial, [this](const message& m) { return numbered(m, next++); }),
        mix(g, unlimited, [](const numbered& n) { return n; }),
        sequencer(g,
                  [](const numbered& n) {
                    if (kSequencersThrow) may_throw(n.first);
                    return n.second;
                  }),
        end(g, serial, [this](const numbered& n) {
          if (n.second != expected++) ++wrong;
          return n.first;
        }) {
    keeps_order = true;
  }
  receiver<message>& in() override { return number; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(number, mix);
    make_edge(mix, sequencer);
    make_edge(sequencer, end);
  }
  void prepare() override {
    next = expected = 0;
    wrong = 0;
  }
  void check(int, bool) override { EXPECT_EQ(wrong, 0); }
};

// A limiter in a cycle, whose decrements come from a port of the node that it limits.
struct limiter_stage : stage {
  using worker = multifunction_node<message, std::tuple<message, continue_msg>>;
  const int limit;
  std::atomic<int> inside{0}, most{0};
  queue_node<message> queue;
  limiter_node<message> limiter;
  worker work;
  broadcast_node<message> end;
  limiter_stage(graph& g, step s, int n, bool is_serial)
      : stage("limiter"),
        limit(n),
        queue(g),
        limiter(g, std::size_t(n)),
        work(g, is_serial ? serial : unlimited,
             [this, s](const message& m, worker::output_ports_type& ports) {
               const int now = ++inside;
               for (int old = most; old < now && !most.compare_exchange_weak(old, now);) continue;
               const message made = s(m);
               --inside;
               std::get<0>(ports).try_put(made);
               std::get<1>(ports).try_put(continue_msg());
             }),
        end(g) {
    keeps_order = is_serial;
    can_wait = kTracksPorts;
    change = s;
  }
  receiver<message>& in() override { return queue; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(queue, limiter);
    make_edge(limiter, work);
    make_edge(output_port<0>(work), end);
    make_edge(output_port<1>(work), limiter.decrementer());
  }
  void prepare() override { inside = most = 0; }
  void check(int, bool) override { EXPECT_LE(most, limit); }
};

// Two branches that are joined by the numbers of the messages.
struct key_stage : stage {
  using pair = std::tuple<message, message>;
  broadcast_node<message> fork;
  node left, right;
  join_node<pair, key_matching<int>> join;
  function_node<pair, message> end;
  key_stage(graph& g, step s, step t)
      : stage("key_matching"),
        fork(g),
        left(g, unlimited, s),
        right(g, 2, t),
        join(
            g, [](const message& m) { return m.id; }, [](const message& m) { return m.id; }),
        end(g, unlimited, [](const pair& p) {
          return message(std::get<0>(p).id, std::get<0>(p).value + std::get<1>(p).value);
        }) {
    change = step{s.factor + t.factor, s.addend + t.addend};
  }
  receiver<message>& in() override { return fork; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(fork, left);
    make_edge(fork, right);
    make_edge(left, input_port<0>(join));
    make_edge(right, input_port<1>(join));
    make_edge(join, end);
  }
};

// Two serial branches that are joined in their order. One thread at a time passes messages to both.
struct queueing_stage : stage {
  using pair = std::tuple<message, message>;
  queue_node<message> queue;
  node first;
  broadcast_node<message> fork;
  node left, right;
  join_node<pair> join;
  function_node<pair, message> end;
  std::atomic<int> wrong{0};
  queueing_stage(graph& g, step s, step t)
      : stage("queueing"),
        queue(g),
        first(g, serial, [](const message& m) { return m; }),
        fork(g),
        left(g, serial, s),
        right(g, serial, t),
        join(g),
        end(g, serial, [this](const pair& p) {
          if (std::get<0>(p).id != std::get<1>(p).id) ++wrong;
          return message(std::get<0>(p).id, std::get<0>(p).value + std::get<1>(p).value);
        }) {
    keeps_order = true;
    change = step{s.factor + t.factor, s.addend + t.addend};
  }
  receiver<message>& in() override { return queue; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(queue, first);
    make_edge(first, fork);
    make_edge(fork, left);
    make_edge(fork, right);
    make_edge(left, input_port<0>(join));
    make_edge(right, input_port<1>(join));
    make_edge(join, end);
  }
  void prepare() override { wrong = 0; }
  void check(int, bool) override { EXPECT_EQ(wrong, 0); }
};

// Makes two messages of each, and passes them through a split and an indexer node.
struct split_stage : stage {
  using pair = std::tuple<message, message>;
  using merge = indexer_node<message, message>;
  function_node<message, pair> begin_node;
  split_node<pair> split;
  merge indexer;
  function_node<merge::output_type, message> end;
  explicit split_stage(graph& g)
      : stage("split+indexer"),
        begin_node(g, unlimited,
                   [](const message& m) {
                     return pair(message(2 * m.id, m.value), message(2 * m.id + 1, -m.value));
                   }),
        split(g),
        indexer(g),
        end(g, 3, [](const merge::output_type& m) {
          const message& value = m.cast_to<message>();
          return value.id % 2 == int(m.tag()) ? value : message(-1, 0);
        }) {
    can_wait = false;
  }
  receiver<message>& in() override { return begin_node; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(begin_node, split);
    make_edge(output_port<0>(split), input_port<0>(indexer));
    make_edge(output_port<1>(split), input_port<1>(indexer));
    make_edge(indexer, end);
  }
  void model(std::vector<message>& all) override {
    std::vector<message> made;
    for (const message& m : all) {
      made.emplace_back(2 * m.id, m.value);
      made.emplace_back(2 * m.id + 1, -m.value);
    }
    all = made;
  }
};

// Messages take tokens, of which there are few, by a reserving join.
struct token_stage : stage {
  using pair = std::tuple<message, int>;
  using worker = multifunction_node<pair, std::tuple<message, int>>;
  const int tokens;
  std::atomic<int> inside{0}, most{0};
  queue_node<message> queue;
  buffer_node<int> pool;
  join_node<pair, reserving> join;
  worker work;
  broadcast_node<message> end;
  token_stage(graph& g, step s, int n)
      : stage("reserving"),
        tokens(n),
        queue(g),
        pool(g),
        join(g),
        work(g, unlimited,
             [this, s](const pair& p, worker::output_ports_type& ports) {
               const int now = ++inside;
               for (int old = most; old < now && !most.compare_exchange_weak(old, now);) continue;
               const message made = s(std::get<0>(p));
               --inside;
               std::get<1>(ports).try_put(std::get<1>(p));
               std::get<0>(ports).try_put(made);
             }),
        end(g) {
    can_wait = false;  // a token that waits in the pool follows from a message
    change = s;
  }
  receiver<message>& in() override { return queue; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(queue, input_port<0>(join));
    make_edge(pool, input_port<1>(join));
    make_edge(join, work);
    make_edge(output_port<0>(work), end);
    make_edge(output_port<1>(work), pool);
  }
  void prepare() override {
    inside = most = 0;
    for (int i = 0; i < tokens; ++i) pool.try_put(i);
  }
  void check(int, bool) override { EXPECT_LE(most, tokens); }
};

// Threads outside of the graph do the work.
struct async_stage : stage {
  using async = async_node<message, message>;
  using work = std::pair<message, async::gateway_type*>;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<work> waiting;
  bool ends = false;
  async node;
  std::vector<std::thread> threads;
  async_stage(graph& g, step s, int limit)
      : stage("async"),
        node(g, std::size_t(limit), [this](const message& m, async::gateway_type& gateway) {
          may_throw(m);
          gateway.reserve_wait();
          {
            const std::lock_guard<std::mutex> lock(mutex);
            waiting.emplace_back(m, &gateway);
          }
          changed.notify_one();
        }) {
    can_wait = false;
    change = s;
    for (int i = 0; i < 2; ++i) threads.emplace_back([this, s] { serve(s); });
  }
  ~async_stage() override {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ends = true;
    }
    changed.notify_all();
    for (auto& t : threads) t.join();
  }
  void serve(step s) {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [this] { return ends || !waiting.empty(); });
      if (waiting.empty()) return;
      const work w = waiting.front();
      waiting.pop_front();
      lock.unlock();
      w.second->try_put(s.quiet(w.first));
      w.second->release_wait();
    }
  }
  receiver<message>& in() override { return node; }
  // oneTBB's node is a sender whose edges do nothing.
  sender<message>& out() override { return output_port<0>(node); }
};

// Two nodes that look like one.
struct composite_stage : stage {
  using base = composite_node<std::tuple<message>, std::tuple<message>>;
  struct pair_node : base {
    node first, second;
    pair_node(graph& g, step s, step t, int limit)
        : base(g), first(g, std::size_t(limit), s), second(g, std::size_t(limit), t) {
      base::set_external_ports(base::input_ports_type(first), base::output_ports_type(second));
    }
  } both;
  composite_stage(graph& g, step s, step t, int limit) : stage("composite"), both(g, s, t, limit) {
    keeps_order = limit == 1;
    change = step{s.factor * t.factor, s.addend * t.factor + t.addend};
  }
  receiver<message>& in() override { return input_port<0>(both); }
  sender<message>& out() override { return output_port<0>(both); }
  void connect() override { make_edge(both.first, both.second); }
};

// Counts what comes to nodes at the side: all messages pass a node that keeps the last one, one
// passes a node that keeps the first, and a continue node runs once for two messages.
struct side_stage : stage {
  broadcast_node<message> fork;
  overwrite_node<message> last;
  write_once_node<message> first;
  std::atomic<int> lasts{0}, firsts{0}, seconds{0};
  message_sink last_sink, first_sink;
  function_node<message, continue_msg> left, right;
  continue_node<continue_msg> both;
  explicit side_stage(graph& g)
      : stage("side"),
        fork(g),
        last(g),
        first(g),
        last_sink(g, unlimited, [this](const message&) { ++lasts; }),
        first_sink(g, unlimited, [this](const message&) { ++firsts; }),
        left(g, unlimited, [](const message&) { return continue_msg(); }),
        right(g, serial, [](const message&) { return continue_msg(); }),
        both(g, [this](const continue_msg&) { ++seconds; }) {
    can_wait = false;
  }
  receiver<message>& in() override { return fork; }
  sender<message>& out() override { return fork; }
  void connect() override {
    make_edge(fork, last);
    make_edge(fork, first);
    make_edge(last, last_sink);
    make_edge(first, first_sink);
    make_edge(fork, left);
    make_edge(fork, right);
    make_edge(left, both);
    make_edge(right, both);
  }
  void begin() override {
    first.clear();
    lasts = firsts = seconds = 0;
  }
  void model(std::vector<message>& all) override { passed = int(all.size()); }
  void check(int, bool) override {
    EXPECT_EQ(lasts, passed);
    EXPECT_EQ(firsts, 1);
    EXPECT_EQ(seconds, passed);
    EXPECT_TRUE(first.is_valid());
  }
  int passed = 0;
};

// Sends messages by their number to one of two ports.
struct route_stage : stage {
  using router = multifunction_node<message, std::tuple<message, message>>;
  router route;
  node even, odd;
  broadcast_node<message> end;
  route_stage(graph& g, step s, int limit)
      : stage("route"),
        route(g, std::size_t(limit),
              [](const message& m, router::output_ports_type& ports) {
                if (m.id % 2 == 0) {
                  std::get<0>(ports).try_put(m);
                } else {
                  std::get<1>(ports).try_put(m);
                }
              }),
        even(g, serial, s, node_priority_t(1)),
        odd(g, unlimited, s),
        end(g) {
    can_wait = kTracksPorts;
    change = s;
  }
  receiver<message>& in() override { return route; }
  sender<message>& out() override { return end; }
  void connect() override {
    make_edge(output_port<0>(route), even);
    make_edge(output_port<1>(route), odd);
    make_edge(even, end);
    make_edge(odd, end);
  }
};

// `doubles` counts the stages that double the messages.
inline std::unique_ptr<stage> make_stage(graph& g, std::mt19937& choose, int& doubles) {
  const auto pick = [&choose](int n) { return int(choose() % unsigned(n)); };
  const step s{1 + pick(3), pick(10)}, t{1 + pick(2), pick(5)};
  const int limit = pick(4);
  stage* made = nullptr;
  switch (pick(doubles < 2 ? 14 : 13)) {
    case 0:
      made = new function_stage(g, s, limit, node_priority_t(pick(3)));
      break;
    case 1:
      made = new lightweight_stage(g, s, limit);
      break;
    case 2:
      made = new rejecting_stage<queue_node<message>>(g, s, 1 + limit, true);
      break;
    case 3:
      made = new rejecting_stage<buffer_node<message>>(g, s, 1 + limit, false);
      break;
    case 4:
      made = new rejecting_stage<priority_queue_node<message>>(g, s, 1 + limit, false);
      break;
    case 5:
      made = new sequencer_stage(g);
      break;
    case 6:
      made = new limiter_stage(g, s, 1 + limit, pick(2) == 0);
      break;
    case 7:
      made = new key_stage(g, s, t);
      break;
    case 8:
      made = kKeepsOrder ? static_cast<stage*>(new queueing_stage(g, s, t))
                         : new function_stage(g, s, limit, no_priority);
      break;
    case 9:
      made = new token_stage(g, s, 1 + limit);
      break;
    case 10:
      made = new async_stage(g, s, limit);
      break;
    case 11:
      made = new composite_stage(g, s, t, limit);
      break;
    case 12:
      made = pick(2) == 0 ? static_cast<stage*>(new side_stage(g)) : new route_stage(g, s, limit);
      break;
    default:
      ++doubles;
      made = new split_stage(g);
  }
  if (!kKeepsOrder) made->keeps_order = false;
  return std::unique_ptr<stage>(made);
}

}  // namespace random_graph

#endif  // CORBEL_TEST_FLOW_RANDOM_STAGES_HPP
