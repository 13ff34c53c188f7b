// SPDX-License-Identifier: Apache-2.0
// Messages through a flow graph whose bodies do almost nothing: what a node costs.
#pragma once

#include <cstdint>
#include <string>

#include "../harness.hpp"
#include "../marks.hpp"

namespace graph_messages {

inline constexpr std::uint64_t kChain = 1000;    // nodes of a chain
inline constexpr std::uint64_t kFan = 100;       // successors of the node that broadcasts
inline constexpr std::uint64_t kAhead = 16;      // the limiters' threshold
inline constexpr std::uint64_t kBodyTurns = 50;  // of the stream's first stage: about 0.1 us

// What a node of a chain does to a number.
inline std::uint64_t step(std::uint64_t number) { return number + 1; }

// The stream's first stage.
inline std::uint64_t transform(std::uint64_t number) {
  for (std::uint64_t i = 0; i < kBodyTurns; ++i) number = bench::mark_of(number);
  return number;
}

// The stream's last stage sees the messages in their order.
inline std::uint64_t append(std::uint64_t digest, std::uint64_t number) {
  return digest * 31 + number;
}

// `runs` has a function for each kind of work, which sends `count` messages and returns a checksum
// that all contestants share.
template <typename Runs>
void measure(bench::Arguments& arguments, bench::Result& result, const Runs& runs) {
  const std::string work = arguments.text("work", "continue");
  const std::uint64_t count = arguments.number("count", 10);
  const auto found = runs.find(work);
  bench::check(found != runs.end(), "work= is not known");
  const double begin = bench::now();
  result.checksum = found->second(count);
  result.seconds = bench::now() - begin;
  const bool chain = work == "continue" || work == "serial" || work == "unlimited";
  const std::uint64_t nodes = chain ? kChain : work == "fan" ? kFan : 1;
  result.value = result.seconds / static_cast<double>(count * nodes) * 1e9;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  const auto sizes = [](const char* label, const std::string& work, unsigned count) {
    const auto size = [&](unsigned times) {
      return work + " count=" + std::to_string(count * times);
    };
    return bench::Case{label, size(1), size(10), size(100)};
  };
  return {
      .name = "graph_messages",
      .title = "Messages through a flow graph",
      .what =
          "One message after the other passes a chain of 1,000 nodes, or many messages pass a "
          "broadcast to 100 nodes, a join of two ports, a limiter that the consumer feeds, an "
          "async node, or a stream with a parallel and a serial stage. The figure is the time "
          "for a node of the chain or the broadcast, otherwise for a message.",
      .group = "flow graph",
      .metric = "time of a node or a message",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4},
      .brief_threads = {1, 2},
      .cases = {sizes("chain, continue", "work=continue", 500),
                sizes("chain, serial", "work=serial", 300),
                sizes("chain, unlimited", "work=unlimited", 300),
                sizes("broadcast", "work=fan", 1500), sizes("join", "work=join", 30'000),
                sizes("limiter", "work=limiter", 60'000), sizes("async", "work=async", 20'000),
                sizes("stream", "work=stream", 50'000)},
      .run = run,
  };
}

}  // namespace graph_messages
