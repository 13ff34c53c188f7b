// SPDX-License-Identifier: Apache-2.0
// Messages through a flow graph with the oneTBB API. Building and destroying the graph is
// a small part of the time.
#include "graph_messages.hpp"

#include <tbb/flow_graph.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <tuple>

#include "../tbb_width.hpp"

namespace {

using namespace tbb::flow;
using graph_messages::kAhead;
using graph_messages::kChain;
using graph_messages::kFan;
using Number = std::uint64_t;

// A sum of relaxed additions, which the end of wait_for_all orders before its reader.
class Sum {
 public:
  void add(Number number) { sum_.fetch_add(number, std::memory_order_relaxed); }
  Number value() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Number> sum_{0};
};

Number through_continue_nodes(Number count) {
  graph all;
  Sum calls;
  std::list<continue_node<continue_msg>> nodes;
  for (Number i = 0; i < kChain; ++i) {
    nodes.emplace_back(all, [&](const continue_msg&) {
      calls.add(1);
      return continue_msg();
    });
    if (i > 0) make_edge(*std::prev(nodes.end(), 2), nodes.back());
  }
  for (Number i = 0; i < count; ++i) {
    nodes.front().try_put(continue_msg());
    all.wait_for_all();
  }
  return calls.value();
}

Number through_function_nodes(Number count, std::size_t concurrency) {
  graph all;
  Sum sum;
  std::list<function_node<Number, Number>> nodes;
  for (Number i = 0; i < kChain; ++i) {
    nodes.emplace_back(all, concurrency, graph_messages::step);
    if (i > 0) make_edge(*std::prev(nodes.end(), 2), nodes.back());
  }
  function_node<Number> last(all, serial, [&](Number number) { sum.add(number); });
  make_edge(nodes.back(), last);
  for (Number i = 0; i < count; ++i) {
    nodes.front().try_put(i);
    all.wait_for_all();
  }
  return sum.value();
}

Number broadcast(Number count) {
  graph all;
  Sum sum;
  broadcast_node<Number> source(all);
  std::list<function_node<Number>> nodes;
  for (Number i = 0; i < kFan; ++i) {
    nodes.emplace_back(all, unlimited, [&](Number number) { sum.add(number); });
    make_edge(source, nodes.back());
  }
  for (Number i = 0; i < count; ++i) source.try_put(i);
  all.wait_for_all();
  return sum.value();
}

Number join(Number count) {
  using Pair = std::tuple<Number, Number>;
  graph all;
  Sum sum;
  join_node<Pair, queueing> both(all);
  function_node<Pair> last(
      all, serial, [&](const Pair& pair) { sum.add(std::get<0>(pair) + std::get<1>(pair)); });
  make_edge(both, last);
  for (Number i = 0; i < count; ++i) {
    input_port<0>(both).try_put(i);
    input_port<1>(both).try_put(i);
  }
  all.wait_for_all();
  return sum.value();
}

Number limiter(Number count) {
  graph all;
  Sum sum;
  queue_node<Number> waiting(all);
  limiter_node<Number> gate(all, kAhead);
  function_node<Number, continue_msg> last(all, unlimited, [&](Number number) {
    sum.add(number);
    return continue_msg();
  });
  make_edge(waiting, gate);
  make_edge(gate, last);
  make_edge(last, gate.decrementer());
  for (Number i = 0; i < count; ++i) waiting.try_put(i);
  all.wait_for_all();
  return sum.value();
}

// A thread outside of the graph that answers what it is given.
class Outside {
 public:
  using Gateway = async_node<Number, Number>::gateway_type;

  Outside() : thread_([this] { run(); }) {}

  ~Outside() {
    give(0, nullptr);
    thread_.join();
  }

  void give(Number number, Gateway* gateway) {
    if (gateway) gateway->reserve_wait();
    const std::lock_guard lock(mutex_);
    given_.emplace(number, gateway);
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !given_.empty(); });
      const auto [number, gateway] = given_.front();
      given_.pop();
      lock.unlock();
      if (!gateway) return;
      gateway->try_put(number);
      gateway->release_wait();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::pair<Number, Gateway*>> given_;
  std::thread thread_;
};

Number async(Number count) {
  Outside outside;
  graph all;
  Sum sum;
  async_node<Number, Number> node(all, unlimited, [&](Number number, Outside::Gateway& gateway) {
    outside.give(number, &gateway);
  });
  function_node<Number> last(all, unlimited, [&](Number number) { sum.add(number); });
  make_edge(node, last);
  for (Number i = 0; i < count; ++i) node.try_put(i);
  all.wait_for_all();
  return sum.value();
}

Number stream(Number count) {
  struct Item {
    Number place, number;
  };
  graph all;
  Number digest = 0, next = 0;
  input_node<Item> source(all, [&](tbb::flow_control& control) {
    if (next == count) control.stop();
    const Item item{next, next};
    ++next;
    return item;
  });
  limiter_node<Item> gate(all, kAhead);
  function_node<Item, Item> first(all, unlimited, [](const Item& item) {
    return Item{item.place, graph_messages::transform(item.number)};
  });
  sequencer_node<Item> order(all, [](const Item& item) { return std::size_t{item.place}; });
  function_node<Item, continue_msg> last(all, serial, [&](const Item& item) {
    digest = graph_messages::append(digest, item.number);
    return continue_msg();
  });
  make_edge(source, gate);
  make_edge(gate, first);
  make_edge(first, order);
  make_edge(order, last);
  make_edge(last, gate.decrementer());
  source.activate();
  all.wait_for_all();
  return digest;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  const auto in_width = [&](const std::function<Number(Number)>& call) {
    return [&width, call](Number count) { return width.run([&] { return call(count); }); };
  };
  const auto chain = [](std::size_t concurrency) {
    return [concurrency](Number count) { return through_function_nodes(count, concurrency); };
  };
  const std::map<std::string, std::function<Number(Number)>> runs{
      {"continue", in_width(through_continue_nodes)},
      {"serial", in_width(chain(serial))},
      {"unlimited", in_width(chain(unlimited))},
      {"fan", in_width(broadcast)},
      {"join", in_width(join)},
      {"limiter", in_width(limiter)},
      {"async", in_width(async)},
      {"stream", in_width(stream)}};
  graph_messages::measure(arguments, result, runs);
}

}  // namespace

const bench::Kernel bench::kernel = graph_messages::description(run);
