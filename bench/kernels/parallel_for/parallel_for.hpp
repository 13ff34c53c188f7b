// SPDX-License-Identifier: Apache-2.0
// A parallel loop with an empty body, as in the 2007 article (figure 7).
//
// The body is an empty assembler statement, which costs nothing and which no compiler may drop or
// merge. An iteration then consists of the loop's own count and jump. To verify that no scheduler
// does less work, the same call (range, grain size, partitioner) is first made with another body:
// it records for each part the count and the sum of its numbers, in a table line of the executing
// thread. That call is not timed, because an entry costs more than a part of one iteration.
#pragma once

#include <array>
#include <atomic>

#include "../classic_tricks.hpp"
#include "../harness.hpp"

namespace parallel_for {

class Tally {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    Line& line = lines_[own_line()];
    line.numbers += end - begin;
    line.sum += (end - begin) * (begin + end - 1) / 2;
  }

  bool holds_all_below(std::uint64_t count) const {
    std::uint64_t numbers = 0, sum = 0;
    for (const Line& line : lines_) {
      numbers += line.numbers;
      sum += line.sum;
    }
    return numbers == count && sum == count * (count - 1) / 2;
  }

  void clear() { lines_ = {}; }

 private:
  struct alignas(128) Line {
    std::uint64_t numbers = 0, sum = 0;
  };

  static std::size_t own_line() {
    static std::atomic<int> next{0};
    static thread_local int line = -1;
    if (line < 0) line = next.fetch_add(1, std::memory_order_relaxed);
    bench::check(static_cast<std::size_t>(line) < kLines, "more threads than the table has lines");
    return static_cast<std::size_t>(line);
  }

  static constexpr std::size_t kLines = 256;
  std::array<Line, kLines> lines_{};
};

inline Tally tally;

// One part of the loop.
struct Timed {
  static void iterate(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i != end; ++i) asm volatile("");
  }
};

struct Counted {
  static void iterate(std::uint64_t begin, std::uint64_t end) {
    Timed::iterate(begin, end);
    tally.add(begin, end);
  }
};

// A part as a body for blocked ranges.
template <typename Part>
struct Body {
  template <typename Range>
  void operator()(const Range& part) const {
    Part::iterate(part.begin(), part.end());
  }
};

// `loop(count, grain, part)`, where `part` is a Timed or a Counted; a grain of 0 means that the
// library chooses.
template <typename Loop>
void measure(bench::Arguments& arguments, bench::Result& result, const Loop& loop) {
  const std::uint64_t count = arguments.number("count", 1'000'000);
  const std::uint64_t grain = arguments.number("grain", 0);
  bench::check(count > 0, "count= is at least 1");
  tally.clear();
  loop(count, grain, Counted());
  bench::check(tally.holds_all_below(count), "an iteration was left out or done twice");
  const double begin = bench::now();
  loop(count, grain, Timed());
  result.seconds = result.value = bench::now() - begin;
  result.checksum = count;
}

inline std::vector<bench::Variant> variants() {
  std::vector<bench::Variant> all = bench::four_tricks();
  all.push_back({"classic", "library"});
  return all;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "parallel_for",
      .title = "Empty parallel loop",
      .what =
          "100 million iterations of an empty body, in parts of a given size or of the library's "
          "choice (fewer iterations for parts of one, and in a quick run). The smaller the "
          "parts, the larger is the scheduler's share of the time.",
      .group = "seed scheduler",
      .figure = "Figure 7",
      .plot = "speedup",
      .threads = {1, 2, 4, 8},
      .cases = {{"grain 1", "count=300000 grain=1", "count=10000000 grain=1",
                 "count=10000000 grain=1"},
                {"grain 100", "count=20000000 grain=100", "count=100000000 grain=100",
                 "count=100000000 grain=100"},
                {"grain 10,000,000", "count=100000000 grain=10000000",
                 "count=100000000 grain=10000000", "count=100000000 grain=10000000"},
                {"auto", "count=100000000 grain=0", "count=100000000 grain=0",
                 "count=100000000 grain=0"}},
      .variants = variants(),
      .run = run,
  };
}

}  // namespace parallel_for
