// SPDX-License-Identifier: Apache-2.0
// Flow graphs.
#include "client.hpp"

namespace {

using namespace tbb::flow;

void graphs() {
  graph g;
  std::atomic<long> sum{0};
  input_node<int> source(g, [i = 0](tbb::flow_control& control) mutable {
    if (i == 1000) control.stop();
    return i++;
  });
  function_node<int, int> twice(g, unlimited, [](int x) { return 2 * x; });
  limiter_node<int> limiter(g, 10);
  function_node<int, continue_msg> add(g, serial, [&](int x) {
    sum += x;
    return continue_msg();
  });
  make_edge(source, limiter);
  make_edge(limiter, twice);
  make_edge(twice, add);
  make_edge(add, limiter.decrementer());
  source.activate();
  g.wait_for_all();
  say("graph", sum);

  broadcast_node<int> start(g);
  join_node<std::tuple<int, int>> both(g);
  function_node<int, int, lightweight> left(g, unlimited, [](int x) noexcept { return x + 1; });
  function_node<int, int> right(g, serial, [](int x) { return x * 10; }, node_priority_t(2));
  std::atomic<long> joined{0};
  function_node<std::tuple<int, int>> end(
      g, serial, [&](const std::tuple<int, int>& t) { joined += std::get<0>(t) + std::get<1>(t); });
  make_edge(start, left);
  make_edge(start, right);
  make_edge(left, input_port<0>(both));
  make_edge(right, input_port<1>(both));
  make_edge(both, end);
  for (int i = 0; i < 100; ++i) start.try_put(i);
  g.wait_for_all();
  say("joined", joined);

  sequencer_node<int> order(g, [](int x) { return std::size_t(x); });
  std::string letters;
  function_node<int> spell(g, serial, [&](int x) { letters += char('a' + x); });
  make_edge(order, spell);
  for (int i = 25; i >= 0; --i) order.try_put(i);
  g.wait_for_all();
  std::printf("spelt: %s\n", letters.c_str());

  using Async = async_node<int, int>;
  Async async(g, unlimited, [](int x, Async::gateway_type& gateway) {
    gateway.reserve_wait();
    std::thread([x, &gateway] {
      gateway.try_put(x * x);
      gateway.release_wait();
    }).detach();
  });
  std::atomic<long> squares{0};
  function_node<int> collect(g, serial, [&](int x) { squares += x; });
  make_edge(async, collect);
  for (int i = 0; i < 20; ++i) async.try_put(i);
  g.wait_for_all();
  say("squares", squares);

  function_node<int> throws(g, serial, [](int) { throw std::runtime_error("in a node"); });
  throws.try_put(1);
  try {
    g.wait_for_all();
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
  say("cancelled", g.is_cancelled());
  g.reset();
}

// Takes all that a buffering node gives, in its order.
template <typename Node>
void drain(const char* name, Node& node) {
  std::printf("%s:", name);
  int x = 0;
  while (node.try_get(x)) std::printf(" %d", x);
  std::printf("\n");
}

void buffers() {
  graph g;
  queue_node<int> queue(g);
  priority_queue_node<int> heap(g);
  sequencer_node<int> sequence(g, [](int x) { return std::size_t(x); });
  overwrite_node<int> newest(g);
  write_once_node<int> oldest(g);
  buffer_node<int> bag(g);
  for (const int x : {3, 1, 0, 4, 2}) {
    queue.try_put(x);
    heap.try_put(x);
    sequence.try_put(x);
    newest.try_put(x);
    oldest.try_put(x);
    bag.try_put(x);
  }
  g.wait_for_all();
  drain("queue", queue);
  drain("heap", heap);
  drain("sequence", sequence);
  int x = 0;
  say("newest", newest.try_get(x) ? x : -1);
  say("oldest", oldest.try_get(x) ? x : -1);
  oldest.clear();
  say("cleared", oldest.is_valid());
  long sum = 0;
  while (bag.try_get(x)) sum += x;
  say("bag", sum);
  g.wait_for_all();
  // Reservation.
  queue.try_put(9);
  g.wait_for_all();
  say("reserved", queue.try_reserve(x));
  int y = 0;
  say("reserved again", queue.try_reserve(y));
  queue.try_release();
  say("reserved", queue.try_reserve(x));
  queue.try_consume();
  g.wait_for_all();
  say("consumed", queue.try_get(x));
}

void joins() {
  graph g;
  long sum = 0;
  queue_node<int> left(g), right(g);
  join_node<std::tuple<int, int>, reserving> pairs(g);
  function_node<std::tuple<int, int>> add(
      g, serial, [&](const std::tuple<int, int>& t) { sum += std::get<0>(t) * std::get<1>(t); });
  make_edge(left, input_port<0>(pairs));
  make_edge(right, input_port<1>(pairs));
  make_edge(pairs, add);
  for (int i = 0; i < 100; ++i) left.try_put(i);
  for (int i = 0; i < 100; ++i) right.try_put(2);
  g.wait_for_all();
  say("reserving", sum);
  using Keyed = std::pair<int, int>;
  join_node<std::tuple<Keyed, Keyed>, key_matching<int>> match(
      g, [](const Keyed& k) { return k.first; }, [](const Keyed& k) { return k.first; });
  long matched = 0;
  function_node<std::tuple<Keyed, Keyed>> check(g, serial, [&](const std::tuple<Keyed, Keyed>& t) {
    matched += std::get<0>(t).first == std::get<1>(t).first ? std::get<1>(t).second : 1000000;
  });
  make_edge(match, check);
  for (int i = 0; i < 50; ++i) input_port<0>(match).try_put({i, 1});
  for (int i = 49; i >= 0; --i) input_port<1>(match).try_put({i, i});
  g.wait_for_all();
  say("matched", matched);
  split_node<std::tuple<int, std::string>> split(g);
  indexer_node<int, std::string> index(g);
  long ints = 0, letters = 0;
  function_node<indexer_node<int, std::string>::output_type> which(
      g, serial, [&](const indexer_node<int, std::string>::output_type& m) {
        if (m.tag() == 0) {
          ints += cast_to<int>(m);
        } else {
          letters += long(cast_to<std::string>(m).size());
        }
      });
  make_edge(output_port<0>(split), input_port<0>(index));
  make_edge(output_port<1>(split), input_port<1>(index));
  make_edge(index, which);
  for (int i = 0; i < 20; ++i) split.try_put(std::make_tuple(i, std::string(std::size_t(i), 'x')));
  g.wait_for_all();
  say("ints", ints);
  say("letters", letters);
}

void nodes() {
  graph g;
  std::atomic<long> count{0};
  // A diamond of continue nodes.
  continue_node<continue_msg> top(g, [&](const continue_msg&) { ++count; });
  continue_node<int> a(g, [&](const continue_msg&) { return int(++count); });
  continue_node<int> b(g, [&](const continue_msg&) { return int(++count); });
  continue_node<continue_msg> bottom(g, 2, [&](const continue_msg&) { count += 10; });
  make_edge(top, a);
  make_edge(top, b);
  function_node<int, continue_msg> forward(g, unlimited, [](int) { return continue_msg(); });
  make_edge(a, forward);
  make_edge(b, forward);
  make_edge(forward, bottom);
  top.try_put(continue_msg());
  g.wait_for_all();
  say("diamond", count);
  using Multi = multifunction_node<int, std::tuple<int, int>>;
  Multi parity(g, unlimited, [](const int& x, Multi::output_ports_type& ports) {
    if (x % 2 == 0) {
      std::get<0>(ports).try_put(x);
    } else {
      std::get<1>(ports).try_put(x);
      std::get<1>(ports).try_put(-x);
    }
  });
  std::atomic<long> even{0}, odd{0};
  function_node<int> evens(g, serial, [&](int x) { even += x; });
  function_node<int> odds(g, 2, [&](int x) { odd += x > 0 ? x : 1; });
  make_edge(output_port<0>(parity), evens);
  make_edge(output_port<1>(parity), odds);
  for (int i = 0; i < 1000; ++i) parity.try_put(i);
  g.wait_for_all();
  say("even", even);
  say("odd", odd);
  // Rejecting and lightweight nodes, and concurrency.
  std::atomic<int> inside{0}, most{0};
  std::atomic<long> done{0};
  function_node<int, int> three(g, 3, [&](int x) {
    const int now = ++inside;
    for (int m = most; now > m && !most.compare_exchange_weak(m, now);) {
    }
    ++done;
    --inside;
    return x;
  });
  buffer_node<int> buffer(g);
  function_node<int, int, rejecting> slow(g, 1, [&](int x) { return x; });
  function_node<int, int, queueing_lightweight> light(g, 1, [&](int x) noexcept { return x + 1; });
  make_edge(three, buffer);
  make_edge(buffer, slow);
  make_edge(slow, light);
  std::atomic<long> total{0};
  function_node<int> end(g, serial, [&](int x) { total += x; });
  make_edge(light, end);
  for (int i = 0; i < 500; ++i) three.try_put(i);
  g.wait_for_all();
  say("done", done);
  say("not more than three", most <= 3);
  say("total", total);
  remove_edge(light, end);
  three.try_put(7);
  g.wait_for_all();
  say("after an edge is removed", total);
  // A loop with a limiter.
  limiter_node<int> limit(g, 2);
  std::atomic<int> held{0}, too_many{0};
  Multi work(g, unlimited, [&](const int& x, Multi::output_ports_type& ports) {
    if (++held > 2) ++too_many;
    --held;
    std::get<0>(ports).try_put(x);
  });
  queue_node<int> waiting(g);
  function_node<int, continue_msg> release(g, serial, [](int) { return continue_msg(); });
  make_edge(waiting, limit);
  make_edge(limit, work);
  make_edge(output_port<0>(work), release);
  make_edge(release, limit.decrementer());
  for (int i = 0; i < 300; ++i) waiting.try_put(i);
  g.wait_for_all();
  say("too many", too_many);
  int rest = 0;
  say("rest", waiting.try_get(rest));
}

// A node of two others.
class Twice : public composite_node<std::tuple<int>, std::tuple<int>> {
  using Base = composite_node<std::tuple<int>, std::tuple<int>>;
  function_node<int, int> first_, second_;

 public:
  explicit Twice(graph& g)
      : Base(g),
        first_(g, unlimited, [](int x) { return x + 1; }),
        second_(g, serial, [](int x) { return x * 2; }) {
    make_edge(first_, second_);
    Base::set_external_ports(std::tie(first_), std::tie(second_));
  }
};

void whole_graphs() {
  tbb::task_arena arena(2);
  std::atomic<long> sum{0};
  arena.execute([&] {
    graph g;
    Twice twice(g);
    function_node<int> add(g, unlimited,
                           [&](int x) { tbb::parallel_for(0, 10, [&](int) { sum += x; }); });
    make_edge(output_port<0>(twice), add);
    for (int i = 0; i < 100; ++i) input_port<0>(twice).try_put(i);
    g.wait_for_all();
  });
  say("in an arena", sum);
  // Made in one arena, fed and waited for in others.
  graph* g = nullptr;
  arena.execute([&] { g = new graph; });
  {
    function_node<int> add(*g, unlimited, [&](int x) { sum += x; });
    for (int i = 0; i < 100; ++i) add.try_put(i);
    std::thread([&] {
      for (int i = 0; i < 100; ++i) add.try_put(1);
    }).join();
    g->wait_for_all();
    say("of another arena", sum);
  }
  delete g;
  // Work that is outside of the graph.
  graph held;
  std::atomic<bool> is_released{false};
  held.reserve_wait();
  std::thread release([&] {
    nap(10);
    is_released = true;
    held.release_wait();
  });
  held.wait_for_all();
  say("released", is_released);
  release.join();
  // Cancellation, exceptions, and use after reset.
  for (int round = 0; round < 3; ++round) {
    tbb::task_group_context context;
    graph c(context);
    std::atomic<long> ran{0};
    queue_node<int> queue(c);
    function_node<int> stop(c, serial, [&](int x) {
      ++ran;
      if (x == 10 && round == 1) context.cancel_group_execution();
      if (x == 10 && round == 2) throw x;
    });
    make_edge(queue, stop);
    for (int i = 0; i < 100; ++i) queue.try_put(i);
    try {
      c.wait_for_all();
    } catch (int thrown) {
      say("thrown", thrown);
    }
    say("all ran", ran == 100);
    say("cancelled", c.is_cancelled());
    say("exception", c.exception_thrown());
    c.reset(rf_clear_edges);
    make_edge(queue, stop);
    ran = 0;
    stop.try_put(1);
    c.wait_for_all();
    say("works again", ran > 0 && !c.is_cancelled());
  }
  graph counted;
  int given = 0;
  std::atomic<long> got{0};
  input_node<int> numbers(counted, [&](tbb::flow_control& control) {
    if (given == 50) {
      control.stop();
      return 0;
    }
    return given++;
  });
  function_node<int> take(counted, unlimited, [&](int x) { got += x; });
  make_edge(numbers, take);
  counted.wait_for_all();
  say("not active", got);
  numbers.activate();
  counted.wait_for_all();
  say("active", got);
#if SINCE_2022_0
  broadcast_node<int> start(counted);
  std::atomic<long> seen{0};
  function_node<int, int> one(counted, unlimited, [&](int x) { return x + 1; });
  function_node<int, int> two(counted, serial, [&](int x) {
    seen += x;
    return x;
  });
  make_edge(start, one);
  make_edge(one, two);
  long wrong = 0;
  for (int i = 0; i < 50; ++i) {
    const long before = seen;
    start.try_put_and_wait(i);
    if (seen != before + i + 1) ++wrong;
  }
  say("put and waited", wrong);
  counted.wait_for_all();
#endif
}

// With one thread the order of the tasks of nodes with priorities is determined.
void priorities() {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  arena.execute([] {
    graph g;
    std::string order;
    broadcast_node<int> start(g);
    std::vector<function_node<int>> made;
    made.reserve(6);
    const char* const names = "lhmabc";
    const unsigned priority[] = {1, 9, 5, 7, 3, 2};
    for (int i = 0; i < 6; ++i) {
      const auto body = [&order, names, i](int) { order += names[i]; };
      made.emplace_back(g, unlimited, body, node_priority_t(priority[i]));
      make_edge(start, made.back());
    }
    start.try_put(0);
    g.wait_for_all();
    std::printf("order: %s\n", order.c_str());
  });
}

}  // namespace

int main() {
  graphs();
  buffers();
  joins();
  nodes();
  whole_graphs();
  priorities();
  std::puts("end");
  return 0;
}
