// SPDX-License-Identifier: Apache-2.0
// The examples of the flow graph chapter of the oneTBB specification, each as a test of what its
// text says. Bodies that print there remember what they would print here, and long computations are
// short.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace {

// What an example prints, in any thread.
class output {
 public:
  void add(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(line);
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t place_of(const std::string& line, std::size_t from = 0) const {
    while (from < lines_.size() && lines_[from] != line) ++from;
    return from;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(SpecExamples, MessageFlowGraph) {
  using namespace tbb::flow;
  struct square {
    int operator()(int v) { return v * v; }
  };
  struct cube {
    int operator()(int v) { return v * v * v; }
  };
  class sum {
    int& my_sum;

   public:
    sum(int& s) : my_sum(s) {}
    int operator()(std::tuple<int, int> v) {
      my_sum += get<0>(v) + get<1>(v);
      return my_sum;
    }
  };

  int result = 0;
  graph g;
  broadcast_node<int> input(g);
  function_node<int, int> squarer(g, unlimited, square());
  function_node<int, int> cuber(g, unlimited, cube());
  join_node<std::tuple<int, int>, queueing> join(g);
  function_node<std::tuple<int, int>, int> summer(g, serial, sum(result));
  make_edge(input, squarer);
  make_edge(input, cuber);
  make_edge(squarer, get<0>(join.input_ports()));
  make_edge(cuber, get<1>(join.input_ports()));
  make_edge(join, summer);
  for (int i = 1; i <= 10; ++i) input.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(result, 3410);
}

TEST(SpecExamples, DependencyFlowGraph) {
  using namespace tbb::flow;
  output out;
  struct body {
    std::string my_name;
    output& out;
    body(const char* name, output& o) : my_name(name), out(o) {}
    void operator()(continue_msg) const { out.add(my_name); }
  };
  graph g;
  broadcast_node<continue_msg> start(g);
  continue_node<continue_msg> a(g, body("A", out));
  continue_node<continue_msg> b(g, body("B", out));
  continue_node<continue_msg> c(g, body("C", out));
  continue_node<continue_msg> d(g, body("D", out));
  continue_node<continue_msg> e(g, body("E", out));
  make_edge(start, a);
  make_edge(start, b);
  make_edge(a, c);
  make_edge(b, c);
  make_edge(c, d);
  make_edge(a, e);
  for (int i = 0; i < 3; ++i) {
    start.try_put(continue_msg());
    g.wait_for_all();
    ASSERT_EQ(out.lines().size(), std::size_t(5 * (i + 1)));
    const std::size_t from = std::size_t(5 * i);
    EXPECT_LT(out.place_of("A", from), out.place_of("C", from));
    EXPECT_LT(out.place_of("B", from), out.place_of("C", from));
    EXPECT_LT(out.place_of("C", from), out.place_of("D", from));
    EXPECT_LT(out.place_of("A", from), out.place_of("E", from));
  }
}

TEST(SpecExamples, BufferNode) {
  tbb::flow::graph g;
  std::atomic<int> first{0}, second{0};
  tbb::flow::function_node<int, int> prepare(g, tbb::flow::unlimited,
                                             [](const int& data) { return data; });
  tbb::flow::buffer_node<int> load_balancer(g);
  tbb::flow::function_node<int, tbb::flow::continue_msg, tbb::flow::rejecting> first_worker(
      g, tbb::flow::serial, [&](const int&) { ++first; });
  tbb::flow::function_node<int, tbb::flow::continue_msg, tbb::flow::rejecting> second_worker(
      g, tbb::flow::serial, [&](const int&) { ++second; });
  tbb::flow::make_edge(prepare, load_balancer);
  tbb::flow::make_edge(load_balancer, first_worker);
  tbb::flow::make_edge(load_balancer, second_worker);
  for (int i = 0; i < 10; ++i) prepare.try_put(i);
  g.wait_for_all();
  EXPECT_EQ(first + second, 10);
}

TEST(SpecExamples, LightweightPolicy) {
  using namespace tbb::flow;
  graph g;
  std::atomic<int> sum{0};
  function_node<int, int> add(g, unlimited, [](const int& v) { return v + 1; });
  function_node<int, int, lightweight> multiply(g, unlimited, [](const int& v) { return v * 2; });
  function_node<int, int, lightweight> cube(g, unlimited, [&](const int& v) {
    sum += v * v * v;
    return v * v * v;
  });
  make_edge(add, multiply);
  make_edge(multiply, cube);
  for (int i = 1; i <= 10; ++i) add.try_put(i);
  g.wait_for_all();
  int expected = 0;
  for (int i = 2; i <= 11; ++i) expected += 8 * i * i * i;
  EXPECT_EQ(sum, expected);
}

TEST(SpecExamples, NodePriorities) {
  using namespace tbb::flow;
  output out;
  struct Body {
    const char* name;
    output& out;
    void operator()(const continue_msg&) { out.add(name); }
  };
  tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  graph g;
  broadcast_node<continue_msg> bs(g);
  continue_node<continue_msg> f1(g, Body{"f1", out});
  continue_node<continue_msg> f2(g, Body{"f2", out}, node_priority_t(1));
  continue_node<continue_msg> f3(g, Body{"f3", out});
  continue_node<continue_msg> fe(g, Body{"fe", out});
  make_edge(bs, f1);
  make_edge(bs, f2);
  make_edge(bs, f3);
  make_edge(f1, fe);
  make_edge(f2, fe);
  make_edge(f3, fe);
  bs.try_put(continue_msg());
  g.wait_for_all();
  ASSERT_EQ(out.lines().size(), 4u);
  EXPECT_EQ(out.lines().back(), "fe");
}

TEST(SpecExamples, OverwriteNode) {
  const int data_limit = 20;
  int count = 0;
  std::atomic<int> processed{0};
  tbb::flow::graph g;
  tbb::flow::function_node<int, int> data_set_preparation(g, tbb::flow::unlimited,
                                                          [](int data) { return data; });
  tbb::flow::overwrite_node<int> overwrite_storage(g);
  tbb::flow::input_node<int> data_generator(g, [&](tbb::flow_control& fc) -> int {
    if (count < data_limit) return ++count;
    fc.stop();
    return 0;
  });
  tbb::flow::function_node<int> process(g, tbb::flow::unlimited, [&](const int&) {
    int data_from_storage = 0;
    overwrite_storage.try_get(data_from_storage);
    EXPECT_TRUE(data_from_storage == 0 || data_from_storage == 1);
    ++processed;
  });
  tbb::flow::make_edge(data_set_preparation, overwrite_storage);
  tbb::flow::make_edge(data_generator, process);
  data_set_preparation.try_put(1);
  data_generator.activate();
  g.wait_for_all();
  EXPECT_EQ(processed, data_limit);
}

struct Message {
  int id;
  int data;
};

TEST(SpecExamples, SequencerNode) {
  tbb::flow::graph g;
  std::vector<int> received;
  tbb::flow::function_node<Message, Message> process(g, tbb::flow::unlimited,
                                                     [](Message msg) -> Message {
                                                       msg.data++;
                                                       return msg;
                                                     });
  tbb::flow::sequencer_node<Message> ordering(g, [](const Message& msg) -> int { return msg.id; });
  tbb::flow::function_node<Message> writer(g, tbb::flow::serial,
                                           [&](const Message& msg) { received.push_back(msg.id); });
  tbb::flow::make_edge(process, ordering);
  tbb::flow::make_edge(ordering, writer);
  for (int i = 0; i < 100; ++i) {
    Message msg = {i, 0};
    process.try_put(msg);
  }
  g.wait_for_all();
  ASSERT_EQ(received.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(received[std::size_t(i)], i);
}

TEST(SpecExamples, WriteOnceNode) {
  using data_type = int;
  using namespace tbb::flow;
  graph g;
  std::atomic<int> consumed{0};
  function_node<data_type, data_type> static_result_computer_n(
      g, serial, [&](const data_type& msg) {
        data_type result = data_type((msg << 5) / 4);
        return result;
      });
  write_once_node<data_type> write_once_n(g);
  buffer_node<data_type> buffer_n(g);
  join_node<tuple<data_type, data_type>, reserving> join_n(g);
  function_node<tuple<data_type, data_type>> consumer_n(
      g, unlimited, [&](const tuple<data_type, data_type>& arg) {
        EXPECT_EQ(get<0>(arg), 8);
        EXPECT_EQ(get<1>(arg), 1);
        ++consumed;
      });
  make_edge(static_result_computer_n, write_once_n);
  make_edge(write_once_n, input_port<0>(join_n));
  make_edge(buffer_n, input_port<1>(join_n));
  make_edge(join_n, consumer_n);
  static_result_computer_n.try_put(1);
  for (int i = 0; i < 100; i++) buffer_n.try_put(1);
  g.wait_for_all();
  EXPECT_EQ(consumed, 100);
}

// The user guide's example of a limiter: at most three big objects exist at a time.
TEST(SpecExamples, UsingLimiterNode) {
  using namespace tbb::flow;
  struct big_object {
    std::atomic<int>& alive;
    explicit big_object(std::atomic<int>& a) : alive(a) { ++alive; }
    ~big_object() { --alive; }
  };
  graph g;
  int src_count = 0;
  const int M = 200;
  const int max_objects = 3;
  std::atomic<int> alive{0}, most{0};
  input_node<big_object*> s(g, [&](tbb::flow_control& fc) -> big_object* {
    if (src_count < M) {
      big_object* v = new big_object(alive);
      ++src_count;
      return v;
    }
    fc.stop();
    return nullptr;
  });
  limiter_node<big_object*> l(g, max_objects);
  function_node<big_object*, continue_msg> f(g, unlimited, [&](big_object* v) {
    const int now = alive;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) continue;
    delete v;
    return continue_msg();
  });
  make_edge(l, f);
  make_edge(f, l.decrementer());
  make_edge(s, l);
  s.activate();
  g.wait_for_all();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(src_count, M);
  // One more than the limit: the input_node keeps the next object.
  EXPECT_LE(most, max_objects + 1);
}

// The example of type-specified message keys.
struct keyed_message {
  int k;
  int v;
  int key() const { return k; }
};

TEST(SpecExamples, MessageKeys) {
  using msg_t = keyed_message;
  tbb::flow::graph g;
  tbb::flow::queue_node<msg_t> q0{g};
  tbb::flow::queue_node<msg_t> q1{g};
  tbb::flow::join_node<std::tuple<msg_t, msg_t>, tbb::flow::key_matching<int>> j{g};
  tbb::flow::queue_node<std::tuple<msg_t, msg_t>> q3{g};
  tbb::flow::make_edge(q0, tbb::flow::input_port<0>(j));
  tbb::flow::make_edge(q1, tbb::flow::input_port<1>(j));
  tbb::flow::make_edge(j, q3);
  int n = 10;
  for (int i = 1; i < n; ++i) {
    q0.try_put(msg_t{i, 1000 + i});
    q1.try_put(msg_t{n - i, 10000 + i});
  }
  g.wait_for_all();
  for (int i = 1; i < n; ++i) {
    std::tuple<msg_t, msg_t> t;
    ASSERT_TRUE(q3.try_get(t));
    EXPECT_EQ(std::get<0>(t).k, std::get<1>(t).k);
  }
}

}  // namespace
