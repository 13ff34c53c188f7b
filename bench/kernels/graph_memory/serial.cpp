// SPDX-License-Identifier: Apache-2.0
// The memory of a std::function.
#include "graph_memory.hpp"

namespace {

using graph_memory::Number;

void run(bench::Arguments& arguments, bench::Result& result) {
  const at_rest::Maker function = at_rest::many([] {
    return std::make_unique<std::function<Number(Number)>>([](Number number) { return number; });
  });
  std::map<std::string, at_rest::Maker> makers;
  for (const char* name : {"graph", "continue", "function", "rejecting", "unlimited", "broadcast",
                           "buffer", "queue", "limiter", "join", "chain"}) {
    makers[name] = function;
  }
  at_rest::measure(arguments, result, makers);
}

}  // namespace

const bench::Kernel bench::kernel = graph_memory::description(run);
