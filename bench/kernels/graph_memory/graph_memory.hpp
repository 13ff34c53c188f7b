// SPDX-License-Identifier: Apache-2.0
// The memory of a flow graph's nodes at rest: see at_rest.hpp.
#pragma once

#include "../at_rest.hpp"

namespace graph_memory {

using Number = std::uint64_t;

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  using at_rest::sizes;
  const unsigned count = 10'000;
  return at_rest::description(
      "graph_memory", "Memory of a flow graph",
      "The resident memory of a node of a flow graph that has no message, of a node of a chain "
      "with its edge, and of a graph with no nodes. The serial program has a std::function in the "
      "place of each.",
      "flow graph",
      {sizes("graph", "graph", count), sizes("continue", "continue", count),
       sizes("function, queueing", "function", count),
       sizes("function, rejecting", "rejecting", count),
       sizes("function, unlimited", "unlimited", count), sizes("broadcast", "broadcast", count),
       sizes("buffer", "buffer", count), sizes("queue", "queue", count),
       sizes("limiter", "limiter", count), sizes("join", "join", count),
       sizes("chain of continue nodes", "chain", count)},
      run);
}

}  // namespace graph_memory
