// SPDX-License-Identifier: Apache-2.0
// Only the fast path: each thread repeatedly allocates a block of 16 bytes and frees it at once. At
// the end each thread keeps two blocks, which reveals a library that has one block for all.
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
        "Every thread allocates a block of 16 bytes, writes a word and frees it at once, so only "
        "the fast path runs. The figure is core time per pair of malloc and free: the elapsed "
        "time times the threads (or the cores, if there are fewer), divided by all pairs.",
    .group = "modern allocator",
    .metric = "processor time of a pair",
    .unit = "ns",
    .threads = {1, 2, 4},
    .cases = {{"", "pairs=5000000", "pairs=40000000", "pairs=200000000"}},
    .run = run,
};
