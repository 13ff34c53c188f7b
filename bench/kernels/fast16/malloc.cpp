// SPDX-License-Identifier: Apache-2.0
// The fast path alone: a block of 16 bytes is taken and given back at once, again and again. At the
// end each thread keeps two, so that a library with one block for all does not get away with it.
#include <cstdlib>

#include "core_time.hpp"
#include "harness.hpp"

namespace {

std::uint64_t mark_of(unsigned thread, std::uint64_t number) {
  return (std::uint64_t{thread + 1} << 48U) + number;
}

// Volatile: the compiler may not forward the value from the store to the check.
volatile std::uint64_t* take(std::uint64_t mark) {
  auto* block = static_cast<volatile std::uint64_t*>(std::malloc(16));
  bench::check(block != nullptr, "malloc gave NULL");
  *block = mark;
  return block;
}

void give_back(volatile std::uint64_t* block, std::uint64_t mark) {
  bench::check(*block == mark, "a block has changed");
  std::free(const_cast<std::uint64_t*>(block));
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t pairs = arguments.number("pairs", 1'000'000);
  const unsigned threads = arguments.threads();
  std::vector<volatile std::uint64_t*> kept(std::size_t{2} * threads);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const std::uint64_t mark = mark_of(thread, i);
      give_back(take(mark), mark);
    }
    for (unsigned i = 0; i < 2; ++i) kept[2 * thread + i] = take(mark_of(thread, i));
  });
  for (unsigned i = 0; i < kept.size(); ++i) give_back(kept[i], mark_of(i / 2, i % 2));
  result.value = bench::core_seconds_each(result.seconds, threads, pairs * threads) * 1e9;
  result.checksum = pairs * threads;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "fast16",
    .title = "malloc(16) and free",
    .what =
        "Every thread takes a block of 16 bytes, writes a word and gives it back at once: the fast "
        "path alone. The figure is processor-core time for each pair of malloc and free: the "
        "elapsed time, times the threads or, if there are fewer, the cores, divided by all pairs.",
    .group = "modern allocator",
    .metric = "processor time of a pair",
    .unit = "ns",
    .threads = {1, 2, 4},
    .cases = {{"", "pairs=5000000", "pairs=40000000", "pairs=200000000"}},
    .run = run,
};
