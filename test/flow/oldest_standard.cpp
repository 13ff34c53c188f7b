// SPDX-License-Identifier: Apache-2.0
// Compiled in C++11: every node, with what the constructors of others do not instantiate.
#include <tbb/flow_graph.h>

using namespace tbb::flow;

namespace {

struct same {
  std::size_t operator()(int i) const { return std::size_t(i); }
};
using pair = std::tuple<int, int>;

void functional_nodes(graph& g) {
  function_node<int, int, rejecting> rejects(g, 1, [](int i) { return i; });
  using many = multifunction_node<int, std::tuple<int>>;
  many multi(g, 1, [](int i, many::output_ports_type& ports) { std::get<0>(ports).try_put(i); });
  continue_node<continue_msg> next(g, [](const continue_msg&) {});
  async_node<int, int> async(g, 1, [](int i, receiver_gateway<int>& to) { to.try_put(i); });
  input_node<int> input(g, [](tbb::flow_control& control) {
    control.stop();
    return 0;
  });
  source_node<int> source(g, [](int&) { return false; });
  make_edge(input, rejects);
  make_edge(source, rejects);
  make_edge(rejects, multi);
  make_edge(output_port<0>(multi), async);
  input.activate();
  next.try_put(continue_msg());
  multi.try_put_and_wait(1);
}

void buffers(graph& g) {
  buffer_node<int> buffer(g);
  queue_node<int> queue(g);
  priority_queue_node<int> priority(g);
  sequencer_node<int> sequencer(g, same());
  overwrite_node<int> last(g);
  write_once_node<int> first(g);
  limiter_node<int> limiter(g, 1);
  broadcast_node<int> broadcast(g);
  make_edge(buffer, queue);
  make_edge(queue, limiter);
  make_edge(limiter, priority);
  make_edge(priority, sequencer);
  make_edge(sequencer, last);
  make_edge(last, first);
  make_edge(first, broadcast);
  remove_edge(buffer, queue);
}

void ports(graph& g) {
  join_node<pair> queued(g);
  join_node<pair, reserving> reserved(g);
  join_node<pair, key_matching<std::size_t>> keyed(g, same(), same());
  split_node<pair> split(g);
  indexer_node<int, int> indexer(g);
  composite_node<std::tuple<int>, std::tuple<int>> composite(g);
  make_edge(queued, split);
  make_edge(reserved, split);
  make_edge(keyed, split);
  make_edge(output_port<0>(split), input_port<0>(indexer));
  pair p;
  queued.try_get(p);
  reserved.try_get(p);
}

}  // namespace

void use_all_nodes() {
  graph g;
  functional_nodes(g);
  buffers(g);
  ports(g);
  g.wait_for_all();
  g.reset();
}
