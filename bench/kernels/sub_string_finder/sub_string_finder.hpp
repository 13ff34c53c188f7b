// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of sub_string_finder: the text, the work for one position, and the kernel.
// From the description in "The Foundations for Scalable Multi-Core Software in Intel Threading
// Building Blocks" (Intel Technology Journal 11(4), 2007), Figure 8: for each position of a text,
// find the longest substring elsewhere that matches the one starting there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "classic_tricks.hpp"
#include "harness.hpp"

namespace sub_string_finder {

struct Match {
  std::uint32_t length = 0;
  std::uint32_t place = 0;
};

// The Fibonacci word of the given order: "b", "a", then each is the previous two joined. It is so
// repetitive that every position has long matches.
inline std::string fibonacci_word(std::uint64_t order) {
  std::string before = "b";
  std::string word = "a";
  for (std::uint64_t i = 1; i < order; ++i) {
    before = std::exchange(word, word + before);
  }
  return word;
}

struct Job {
  std::string text;
  std::size_t grain = 1;
  std::vector<Match> found;  // one for each position

  // The work for the positions in [begin, end). Of matches of the same length the first one counts.
  // There is no index over the text, so a position costs O(n).
  void find(std::size_t begin, std::size_t end) {
    const char* const start = text.data();
    const std::size_t size = text.size();
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t longest = 0;
      std::size_t place = 0;
      for (std::size_t j = 0; j < size; ++j) {
        if (j == i) continue;
        const std::size_t limit = size - std::max(i, j);
        std::size_t length = 0;
        while (length < limit && start[i + length] == start[j + length]) ++length;
        if (length > longest) {
          longest = length;
          place = j;
        }
      }
      found[i] = {static_cast<std::uint32_t>(longest), static_cast<std::uint32_t>(place)};
    }
  }
};

// The length of the longest match of every position, by another method: in the sorted list of all
// suffixes, the longest match of a suffix is with a neighbour.
inline std::vector<std::uint32_t> lengths_by_sorting(const std::string& text) {
  const std::size_t size = text.size();
  std::vector<std::uint32_t> order(size);
  std::vector<std::uint32_t> rank(size);
  std::vector<std::uint32_t> next(size);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = 0; i < size; ++i) rank[i] = static_cast<unsigned char>(text[i]);
  for (std::size_t width = 1; width < 2 * size; width *= 2) {
    const auto key = [&](std::uint32_t i) {
      const std::uint32_t second = i + width / 2 < size ? rank[i + width / 2] + 1 : 0;
      return std::pair(rank[i], width == 1 ? 0u : second);
    };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });
    for (std::size_t k = 0; k < size; ++k) {
      next[order[k]] = k == 0 ? 0 : next[order[k - 1]] + (key(order[k - 1]) < key(order[k]));
    }
    rank.swap(next);
  }
  std::vector<std::uint32_t> lengths(size);
  for (std::size_t k = 1; k < size; ++k) {
    const std::uint32_t a = order[k - 1];
    const std::uint32_t b = order[k];
    std::uint32_t length = 0;
    while (std::max(a, b) + length < size && text[a + length] == text[b + length]) ++length;
    lengths[a] = std::max(lengths[a], length);
    lengths[b] = std::max(lengths[b], length);
  }
  return lengths;
}

inline void check(const Job& job) {
  const std::vector<std::uint32_t> lengths = lengths_by_sorting(job.text);
  for (std::size_t i = 0; i < job.found.size(); ++i) {
    const Match match = job.found[i];
    bench::check(match.length == lengths[i], "the length of a match");
    bench::check(match.length == 0 || match.place != i, "a match with itself");
    bench::check(job.text.compare(i, match.length, job.text, match.place, match.length) == 0,
                 "a match whose letters differ");
  }
}

inline std::uint64_t checksum(const Job& job) {
  std::uint64_t sum = job.found.size();
  for (const Match match : job.found) {
    sum = (sum ^ match.length) * 0x9E3779B97F4A7C15u;
    sum = (sum ^ match.place) * 0x9E3779B97F4A7C15u;
  }
  return sum;
}

// A program: find(job, end) processes the positions before `end` with its scheduler, in pieces of
// job.grain. It is called once for a few positions with grain 1, to start its threads, and then
// timed.
using Find = std::function<void(Job& job, std::size_t end)>;

// The kernel of one program. `prepare` sets its scheduler up for the given arguments.
inline bench::Kernel kernel(std::function<Find(bench::Arguments&)> prepare) {
  return {
      .name = "sub_string_finder",
      .title = "Sub-string finder",
      .what =
          "For each position of a Fibonacci string, finds the longest match elsewhere by "
          "comparing. All positions cost about the same, so this shows the overhead of a "
          "parallel loop whose pieces are one position, or a hundred.",
      .group = "seed scheduler",
      .figure = "Figure 8",
      .plot = "speedup",
      .threads = {1, 2, 4, 8},
      .cases = {{"grain 1", "grain=1 order=18", "grain=1 order=19", "grain=1 order=21"},
                {"grain 100", "grain=100 order=18", "grain=100 order=19", "grain=100 order=21"}},
      .variants = bench::four_tricks(),
      .run =
          [prepare](bench::Arguments& arguments, bench::Result& result) {
            Job job;
            job.text = fibonacci_word(arguments.number("order", 17));
            job.found.resize(job.text.size());
            const Find find = prepare(arguments);
            find(job, std::min<std::size_t>(job.text.size(), 64));
            job.found.assign(job.found.size(), Match());
            job.grain = arguments.number("grain", 100);
            const double begin = bench::now();
            find(job, job.text.size());
            result.value = result.seconds = bench::now() - begin;
            check(job);
            result.checksum = checksum(job);
          },
  };
}

}  // namespace sub_string_finder
