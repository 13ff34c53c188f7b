// SPDX-License-Identifier: Apache-2.0
// Messages through a flow graph: the calls of its bodies, through pointers, as a graph makes them.
#include "graph_messages.hpp"

#include <functional>
#include <map>
#include <vector>

namespace {

using graph_messages::kChain;
using graph_messages::kFan;
using Body = std::function<std::uint64_t(std::uint64_t)>;

std::uint64_t chain(std::uint64_t count) {
  const std::vector<Body> bodies(kChain, graph_messages::step);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t number = i;
    for (const Body& body : bodies) number = body(number);
    sum += number;
  }
  return sum;
}

// A message of a continue node has no value: the nodes count the calls.
std::uint64_t count_calls(std::uint64_t count) {
  std::uint64_t calls = 0;
  const std::vector<std::function<void()>> bodies(kChain, [&] { ++calls; });
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const auto& body : bodies) body();
  }
  return calls;
}

std::uint64_t fan(std::uint64_t count) {
  std::uint64_t sum = 0;
  const std::vector<std::function<void(std::uint64_t)>> bodies(
      kFan, [&](std::uint64_t number) { sum += number; });
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const auto& body : bodies) body(i);
  }
  return sum;
}

std::uint64_t sum_of(std::uint64_t count, std::uint64_t times) {
  std::uint64_t sum = 0;
  const std::function<void(std::uint64_t)> body = [&](std::uint64_t number) { sum += number; };
  for (std::uint64_t i = 0; i < count; ++i) body(i * times);
  return sum;
}

std::uint64_t stream(std::uint64_t count) {
  std::uint64_t digest = 0;
  const Body first = graph_messages::transform;
  for (std::uint64_t i = 0; i < count; ++i) digest = graph_messages::append(digest, first(i));
  return digest;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const auto once = [](std::uint64_t count) { return sum_of(count, 1); };
  const auto twice = [](std::uint64_t count) { return sum_of(count, 2); };
  const std::map<std::string, std::function<std::uint64_t(std::uint64_t)>> runs{
      {"continue", count_calls}, {"serial", chain}, {"unlimited", chain}, {"fan", fan},
      {"join", twice},           {"limiter", once}, {"async", once},      {"stream", stream}};
  graph_messages::measure(arguments, result, runs);
}

}  // namespace

const bench::Kernel bench::kernel = graph_messages::description(run);
