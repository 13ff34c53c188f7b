// SPDX-License-Identifier: Apache-2.0
// The compile time of standard headers.
#include <map>

#include "header_time.hpp"

namespace {

const std::map<std::string, std::string> kStandard{{"concurrent_hash_map", "unordered_map"},
                                                   {"concurrent_unordered_map", "unordered_map"},
                                                   {"concurrent_map", "map"},
                                                   {"concurrent_vector", "vector"},
                                                   {"concurrent_queue", "queue"},
                                                   {"concurrent_priority_queue", "queue"},
                                                   {"flow_graph", "functional"}};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::string header = arguments.text("header", "concurrent_vector");
  header_time::measure(result, BENCH_COMPILER, kStandard.at(header));
}

}  // namespace

const bench::Kernel bench::kernel = header_time::description(run);
