// SPDX-License-Identifier: Apache-2.0
// The memory of a flow graph with the oneTBB API.
#include <tbb/flow_graph.h>

#include <deque>
#include <tuple>

#include "graph_memory.hpp"

namespace {

using namespace tbb::flow;
using graph_memory::Number;

// Nodes of one graph; `arguments` follow the graph in the constructor.
template <typename Node, typename... Arguments>
at_rest::Maker nodes(graph& all, Arguments... arguments) {
  return at_rest::many([&all, arguments...] { return std::make_unique<Node>(all, arguments...); });
}

at_rest::Made chain(graph& all, std::uint64_t count) {
  using Node = continue_node<continue_msg>;
  const auto made = std::make_shared<std::deque<Node>>();
  for (std::uint64_t i = 0; i < count; ++i) {
    made->emplace_back(all, [](const continue_msg&) { return continue_msg(); });
    if (i > 0) make_edge((*made)[i - 1], made->back());
  }
  return made;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  graph all;
  const auto same = [](Number number) { return number; };
  const auto pass = [](const continue_msg&) { return continue_msg(); };
  const std::size_t one = serial, any = unlimited;
  at_rest::measure(arguments, result,
                   {{"graph", at_rest::empty<graph>()},
                    {"continue", nodes<continue_node<continue_msg>>(all, pass)},
                    {"function", nodes<function_node<Number, Number>>(all, one, same)},
                    {"rejecting", nodes<function_node<Number, Number, rejecting>>(all, one, same)},
                    {"unlimited", nodes<function_node<Number, Number>>(all, any, same)},
                    {"broadcast", nodes<broadcast_node<Number>>(all)},
                    {"buffer", nodes<buffer_node<Number>>(all)},
                    {"queue", nodes<queue_node<Number>>(all)},
                    {"limiter", nodes<limiter_node<Number>>(all, std::size_t{1})},
                    {"join", nodes<join_node<std::tuple<Number, Number>, queueing>>(all)},
                    {"chain", [&all](std::uint64_t count) { return chain(all, count); }}});
}

}  // namespace

const bench::Kernel bench::kernel = graph_memory::description(run);
