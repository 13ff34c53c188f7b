// SPDX-License-Identifier: Apache-2.0
// Loops in loops, trees and pipelines whose bodies sleep (wide.hpp).
#pragma once

#include "../wide.hpp"

namespace wide {

// A structure that a scheduler runs: its bodies, and how they depend on each other.
struct Structure {
  std::vector<std::uint32_t> us;
  double chain = 0;                   // seconds
  std::vector<std::size_t> starts;    // of the inner loops, and the end
  std::vector<std::size_t> children;  // of a tree: the first one, the second is next; 0: none
  std::size_t tokens = 0;             // of a pipeline
  std::vector<std::uint32_t> serial;  // of a pipeline: lengths in its serial filter
};

inline std::vector<std::uint32_t> exponential(std::size_t count, std::uint32_t us) {
  bench::Random random(1);
  std::vector<std::uint32_t> found(count);
  for (std::uint32_t& one : found) {
    const double uniform = (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
    one = static_cast<std::uint32_t>(-std::log(uniform) * us);
  }
  return found;
}

inline void close(Structure& s) {
  if (s.chain == 0) s.chain = *std::max_element(s.us.begin(), s.us.end()) * 1e-6;
}

// As many inner loops as is near the root of the number of bodies.
inline Structure loops(unsigned threads, std::uint32_t us) {
  Structure s;
  const std::size_t count = std::size_t{4} * threads;
  s.us.assign(count, us);
  for (std::size_t i = 0; i <= count; i += count / divisor(count)) s.starts.push_back(i);
  return s;
}

// Inner loops of 1 to 7 bodies, as many as threads.
inline Structure uneven_loops(unsigned threads, std::uint32_t us) {
  Structure s;
  s.starts.push_back(0);
  for (unsigned i = 0; i < threads; ++i) s.starts.push_back(s.starts.back() + 1 + i % 7);
  s.us.assign(s.starts.back(), us);
  return s;
}

// Adds the children of `node`, below which are `leaves`, split at random.
inline void grow(Structure& s, std::size_t node, std::size_t leaves, bench::Random& random) {
  if (leaves == 1) return;
  const std::size_t left = 1 + random.below(static_cast<std::uint32_t>(leaves - 1));
  const std::size_t first = s.children.size();
  s.children[node] = first;
  s.children.resize(first + 2, 0);
  grow(s, first, left, random);
  grow(s, first + 1, leaves - left, random);
}

// An unbalanced tree, in which only the leaves sleep.
inline Structure leaves(unsigned threads, std::uint32_t us) {
  Structure s;
  const std::size_t count = std::size_t{4} * threads;
  bench::Random random(2);
  s.children.push_back(0);
  grow(s, 0, count, random);
  const std::vector<std::uint32_t> lengths = exponential(count, us);
  std::size_t next = 0;
  for (const std::size_t first : s.children) s.us.push_back(first == 0 ? lengths[next++] : 0);
  return s;
}

// A balanced tree, in which all nodes sleep equally long.
inline Structure nodes(unsigned threads, std::uint32_t us) {
  Structure s;
  const std::size_t count = std::size_t{8} * threads - 1;
  s.us.assign(count, us);
  for (std::size_t i = 0; i < count; ++i) s.children.push_back(2 * i + 2 < count ? 2 * i + 1 : 0);
  for (std::size_t i = count; i > 0; i /= 2) s.chain += us * 1e-6;
  return s;
}

// A parallel filter between two serial ones.
inline Structure pipeline(unsigned threads, std::uint32_t us, bool uneven) {
  Structure s;
  const std::size_t count = std::size_t{4} * threads;
  s.us = uneven ? exponential(count, us) : std::vector<std::uint32_t>(count, us);
  s.tokens = count;
  s.serial.assign(count, 0);
  return s;
}

// A parallel filter after a serial one that takes a quarter of its time and is the bound.
inline Structure serial_filter(std::uint32_t us) {
  constexpr std::size_t kItems = 16;
  Structure s;
  s.us.assign(kItems, us);
  s.tokens = kItems;
  s.serial.assign(kItems, us / 4);
  s.chain = (us + kItems * (us / 4)) * 1e-6;
  return s;
}

inline Structure structure(const std::string& how, unsigned threads, std::uint32_t us) {
  Structure s;
  if (how == "loops" || how == "tasks") s = loops(threads, us);
  if (how == "uneven") s = uneven_loops(threads, us);
  if (how == "groups" || how == "invokes") s = leaves(threads, us);
  if (how == "parents" || how == "children") s = nodes(threads, us);
  if (how == "pipeline") s = pipeline(threads, us, /*uneven=*/false);
  if (how == "uneven_pipeline") s = pipeline(threads, us, /*uneven=*/true);
  if (how == "serial_filter") s = serial_filter(us);
  bench::check(!s.us.empty(), "there is no such how=");
  close(s);
  return s;
}

template <typename Call>
void nested(bench::Arguments& arguments, bench::Result& result, Call& call) {
  const auto us = static_cast<std::uint32_t>(arguments.number("us", 5000));
  const std::uint64_t calls = arguments.number("calls", 1);
  const std::string how = arguments.text("how", "loops");
  const Structure s = structure(how, arguments.threads(), us);
  const double seconds =
      time_calls(s.us, calls, [&](const Bodies& bodies) { call(how, s, bodies); });
  Bounds bounds{Bodies(s.us).work(), s.chain};
  for (const std::uint32_t one : s.serial) bounds.work += one * 1e-6;
  Ratios ratios(arguments.threads());
  ratios.add("", bounds, seconds);
  ratios.report(result);
}

inline bench::Case nested_case(const std::string& label, const std::string& how,
                               std::vector<std::string> apis = {}) {
  return {.label = label,
          .quick = "how=" + how + " us=5000 calls=3",
          .normal = "how=" + how + " us=10000 calls=5",
          .full = "how=" + how + " us=50000 calls=5",
          .apis = std::move(apis)};
}

inline bench::Kernel nested_description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "wide_nested",
      .title = "Many threads: loops in loops, trees, pipelines",
      .what =
          "Bodies that sleep, in loops inside a loop or inside tasks, at the leaves of an "
          "unbalanced "
          "tree, at all nodes of a balanced one before or after their children, and in pipelines. "
          "The figure is the time divided by the greedy bound, which is the work divided by the "
          "threads or the longest chain of bodies that follow each other.",
      .group = "modern scheduler",
      .metric = "time ÷ greedy bound",
      .unit = "x",
      .plot = "wide",
      .watches = true,
      .threads = kThreads,
      .brief_threads = kBriefThreads,
      .cases = {nested_case("loops in a loop", "loops"),
                nested_case("uneven loops in a loop", "uneven"),
                nested_case("loops in tasks", "tasks"),
                nested_case("tree of task_groups", "groups"),
                nested_case("tree of parallel_invokes", "invokes"),
                nested_case("tree, parents first", "parents"),
                nested_case("tree, children first", "children"),
                nested_case("pipeline", "pipeline", {"tbb"}),
                nested_case("pipeline, uneven", "uneven_pipeline", {"tbb"}),
                nested_case("pipeline, serial filter", "serial_filter", {"tbb"})},
      .run = run,
  };
}

}  // namespace wide
