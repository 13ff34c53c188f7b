// SPDX-License-Identifier: Apache-2.0
// A vector that threads grow at the same time: by one element, by 16, and read through iterators.
// The serial program has a std::vector.
//
// An adapter of a contestant is a class Vector of 64-bit numbers:
//   void push_back(std::uint64_t)
//   void grow(const std::uint64_t* first, std::size_t count)    appends the numbers, adjacent
//   std::size_t size()
//   iterator begin()
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "../container_keys.hpp"
#include "../core_time.hpp"
#include "../harness.hpp"

namespace vector {

inline constexpr std::size_t kTogether = 16;

template <typename Vector>
std::uint64_t sum_of(Vector& numbers, std::size_t first, std::size_t last) {
  std::uint64_t sum = 0;
  const auto begin = numbers.begin();
  using Distance = typename std::iterator_traits<decltype(numbers.begin())>::difference_type;
  const auto end = begin + static_cast<Distance>(last);
  for (auto i = begin + static_cast<Distance>(first); i != end; ++i) sum = sum * 3 + *i;
  return sum;
}

template <typename Vector>
std::uint64_t total_of(Vector& numbers, std::uint64_t count) {
  bench::check(numbers.size() == count, "the vector has another size");
  std::uint64_t total = 0;
  const auto begin = numbers.begin();
  for (std::uint64_t i = 0; i < count; ++i) {
    using Distance = typename std::iterator_traits<decltype(numbers.begin())>::difference_type;
    total += bench::mark_of(begin[static_cast<Distance>(i)]);
  }
  return total;
}

template <typename Vector>
std::uint64_t push_back(unsigned threads, std::uint64_t count, double& seconds) {
  Vector numbers;
  const std::uint64_t each = count / bench::kLanes;
  seconds = bench::in_lanes(threads, [&](std::uint64_t lane) {
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) numbers.push_back(i);
  });
  return total_of(numbers, count);
}

template <typename Vector>
std::uint64_t grow_by(unsigned threads, std::uint64_t count, double& seconds) {
  Vector numbers;
  const std::uint64_t each = count / bench::kLanes;
  seconds = bench::in_lanes(threads, [&](std::uint64_t lane) {
    std::array<std::uint64_t, kTogether> next;
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; i += kTogether) {
      for (std::size_t k = 0; k < kTogether; ++k) next[k] = i + k;
      numbers.grow(next.data(), kTogether);
    }
  });
  return total_of(numbers, count);
}

// `rounds` times over all elements.
template <typename Vector>
std::uint64_t iterate(unsigned threads, std::uint64_t count, std::uint64_t rounds,
                      double& seconds) {
  Vector numbers;
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(i);
  const std::uint64_t each = count / bench::kLanes;
  std::atomic<std::uint64_t> total{0};
  seconds = bench::in_lanes(threads, [&](std::uint64_t lane) {
    std::uint64_t own = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      own += sum_of(numbers, lane * each, (lane + 1) * each) ^ round;
    }
    total.fetch_add(own, std::memory_order_relaxed);  // a sum, read after the threads end
  });
  return total.load(std::memory_order_relaxed);
}

// The run function of a contestant.
template <typename Vector>
void measure(bench::Arguments& arguments, bench::Result& result) {
  const std::string work = arguments.text("work", "push_back");
  const std::uint64_t count = arguments.number("count", 64'000);
  const unsigned threads = arguments.threads();
  bench::check(count % (bench::kLanes * kTogether) == 0, "count= is a multiple of 1024");
  std::uint64_t operations = count;
  if (work == "push_back") {
    result.checksum = push_back<Vector>(threads, count, result.seconds);
  } else if (work == "grow_by") {
    result.checksum = grow_by<Vector>(threads, count, result.seconds);
  } else {
    bench::check(work == "iterate", "work= is push_back, grow_by or iterate");
    const std::uint64_t rounds = arguments.number("rounds", 8);
    result.checksum = iterate<Vector>(threads, count, rounds, result.seconds);
    operations *= rounds;
  }
  result.value = bench::core_seconds_each(result.seconds, threads, operations) * 1e9;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "vector",
      .title = "Vector",
      .what =
          "Threads append numbers to one concurrent_vector, one at a time (push_back) or 16 at "
          "a time (grow_by), or sum up their parts of it through iterators. The figure is core "
          "time per number, and the serial program has a std::vector.",
      .group = "container",
      .metric = "processor time of a number",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4},
      .brief_threads = {1, 2},
      .cases = {{"push_back", "work=push_back count=1024000", "work=push_back count=10240000",
                 "work=push_back count=102400000"},
                {"grow_by 16", "work=grow_by count=2048000", "work=grow_by count=20480000",
                 "work=grow_by count=204800000"},
                {"iterate", "work=iterate count=1024000 rounds=16",
                 "work=iterate count=1024000 rounds=160",
                 "work=iterate count=10240000 rounds=160"}},
      .run = run,
  };
}

}  // namespace vector
