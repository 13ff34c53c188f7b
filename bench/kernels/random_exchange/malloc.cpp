// SPDX-License-Identifier: Apache-2.0
// Blocks that the threads exchange at random: each thread swaps a new block into a random one of
// 65,536 places that all share, and frees the block that lay there. Any thread may have made that
// one, and long ago, so on n threads (n - 1) / n of all frees are remote, and the blocks that a
// thread frees one after another come from different slabs of different threads. That is the
// opposite of a pipeline, where one thread's blocks come back together and in order. As many places
// as here are as much memory as a second-level cache cannot hold.
#include <atomic>
#include <cstdlib>
#include <vector>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"

namespace {

constexpr std::uint32_t kPlaces = 65'536;
constexpr std::uint32_t kSmallest = 16;
constexpr std::uint32_t kLargest = 516;

// The first bytes of a block. The last byte says its number too.
struct Block {
  std::uint32_t size;
  std::uint32_t number;
};

unsigned char& last_byte(Block* block, std::uint32_t size) {
  return reinterpret_cast<unsigned char*>(block)[size - 1];
}

// The lower half of `drawn` is the size.
Block* make(std::uint64_t drawn, std::uint32_t number) {
  const std::uint64_t sizes = kLargest - kSmallest + 1;
  const auto size = kSmallest + static_cast<std::uint32_t>((drawn & 0xffffffff) * sizes >> 32);
  auto* block = static_cast<Block*>(std::malloc(size));
  bench::check(block != nullptr, "malloc gave NULL");
  *block = {size, number};
  last_byte(block, size) = static_cast<unsigned char>(number);
  return block;
}

std::uint64_t give_back(Block* block) {
  const auto [size, number] = *block;
  bench::check(size >= kSmallest && size <= kLargest, "the first bytes of a block have changed");
  bench::check(last_byte(block, size) == static_cast<unsigned char>(number),
               "the last byte of a block has changed");
  std::free(block);
  return bench::mark_of(number) ^ size;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  const std::uint64_t each = arguments.number("exchanges", 500'000) / threads;
  std::vector<std::atomic<Block*>> places(kPlaces);
  std::atomic<std::uint64_t> sum{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    bench::Random random(thread + 1);
    const std::uint64_t first = thread * each;
    std::uint64_t own = 0;
    for (std::uint64_t i = 0; i < each; ++i) {
      const std::uint64_t drawn = random.next();  // its upper half is the place
      Block* block = make(drawn, static_cast<std::uint32_t>(first + i));
      std::atomic<Block*>& place = places[(drawn >> 32) % kPlaces];
      // Release and acquire: the thread that takes the block out sees its bytes.
      if (Block* old = place.exchange(block, std::memory_order_acq_rel)) own += give_back(old);
    }
    sum.fetch_add(own, std::memory_order_relaxed);
  });
  // Which blocks are left depends on the threads' order, but every block counts once.
  for (const std::atomic<Block*>& place : places) {
    if (Block* block = place.load(std::memory_order_relaxed)) sum += give_back(block);
  }
  result.value = bench::core_seconds_each(result.seconds, threads, each * threads) * 1e9;
  result.checksum = sum.load(std::memory_order_relaxed);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "random_exchange",
    .title = "Exchange at random places",
    .what =
        "Every thread puts a new block of 16 to 516 bytes into a random one of 65,536 places that "
        "all threads share, and frees the block that lay there, which any of them may have made. "
        "The figure is core time per block: the elapsed time times the threads (or the cores, if "
        "there are fewer), divided by all blocks.",
    .group = "modern allocator",
    .metric = "processor time of a block",
    .unit = "ns",
    .plot = "lines",
    .threads = {2, 4, 16, 64},
    .cases = {{"", "exchanges=1000000", "exchanges=6000000", "exchanges=60000000"}},
    .run = run,
};
