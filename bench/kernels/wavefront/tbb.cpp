// SPDX-License-Identifier: Apache-2.0
// The wavefront with the oneTBB API: a continue_node for every tile.
#include "wavefront.hpp"

#include <tbb/flow_graph.h>

#include <deque>

#include "../tbb_width.hpp"

namespace {

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

int compute(wavefront::Table& table) {
  tbb::flow::graph all;
  std::deque<Node> nodes;
  const std::size_t tiles = table.tiles();
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j < tiles; ++j) {
      nodes.emplace_back(all, [&table, i, j](const tbb::flow::continue_msg&) {
        table.compute(i, j);
        return tbb::flow::continue_msg();
      });
      if (i > 0) tbb::flow::make_edge(nodes[(i - 1) * tiles + j], nodes.back());
      if (j > 0) tbb::flow::make_edge(nodes[i * tiles + j - 1], nodes.back());
    }
  }
  nodes.front().try_put(tbb::flow::continue_msg());
  all.wait_for_all();
  return 0;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  wavefront::measure(arguments, result,
                     [&](wavefront::Table& table) { width.run([&] { return compute(table); }); });
}

}  // namespace

const bench::Kernel bench::kernel = wavefront::description(run);
