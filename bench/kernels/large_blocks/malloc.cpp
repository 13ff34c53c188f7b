// SPDX-License-Identifier: Apache-2.0
// A small set of blocks of 1 to 64 MiB: a random one is freed, another is allocated and each of its
// pages written. An allocator may keep freed memory (fast, large) or give it back (page faults
// again); the figures show both.
#include <cstdlib>

#include "core_time.hpp"
#include "harness.hpp"
#include "sizes.hpp"

namespace {

constexpr std::size_t kMiB = 1U << 20U;
constexpr std::size_t kPage = 4096;
constexpr unsigned kSlots = 6;

struct Block {
  std::uint64_t* words = nullptr;
  std::size_t size = 0;
  std::uint64_t mark = 0;
};

std::uint64_t& word(const Block& block, std::size_t at) { return block.words[at / 8]; }

std::uint64_t give_back(Block& block) {
  if (!block.words) return 0;
  for (std::size_t at = 0; at < block.size; at += kPage) {
    bench::check(word(block, at) == block.mark + at, "a page has changed");
  }
  bench::check(word(block, block.size - 8) == ~block.mark, "the end has changed");
  std::free(block.words);
  const std::uint64_t sum = block.mark ^ block.size;
  block = {};
  return sum;
}

void take(Block& block, std::size_t size, std::uint64_t mark) {
  block = {static_cast<std::uint64_t*>(std::malloc(size)), size, mark};
  bench::check(block.words != nullptr, "malloc gave NULL");
  for (std::size_t at = 0; at < size; at += kPage) word(block, at) = mark + at;
  word(block, size - 8) = ~mark;
}

std::uint64_t replace_at_random(std::uint64_t seed, std::uint64_t count) {
  bench::Random random(seed);
  Block set[kSlots];
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Block& block = set[random.below(kSlots)];
    sum += give_back(block);
    const std::size_t size = bench::doubling_size(random, kMiB, 64 * kMiB) / 8 * 8;
    take(block, size, random.next());
  }
  for (Block& block : set) sum += give_back(block);
  return sum;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t count = arguments.number("blocks", 20);  // of each thread
  const unsigned threads = arguments.threads();
  std::vector<std::uint64_t> sums(threads);
  result.seconds = bench::in_threads(
      threads, [&](unsigned thread) { sums[thread] = replace_at_random(thread + 1, count); });
  result.value = bench::core_seconds_each(result.seconds, threads, count * threads) * 1e6;
  for (const std::uint64_t sum : sums) result.checksum += sum;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "large_blocks",
    .title = "Large blocks, 1 to 64 MiB",
    .what =
        "Each thread keeps six blocks of 1 to 64 MiB, replaces one at random and writes to each "
        "of its pages; keeping freed memory saves page faults and costs peak memory. The figure "
        "is core time per block: the elapsed time times the threads (or the cores, if there are "
        "fewer), divided by all blocks.",
    .group = "modern allocator",
    .metric = "processor time of a block",
    .unit = "us",
    .plot = "table",
    .threads = {1, 2},
    .cases = {{"", "blocks=16", "blocks=60", "blocks=500"}},
    .run = run,
};
