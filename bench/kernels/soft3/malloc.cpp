// SPDX-License-Identifier: Apache-2.0
// Test 3 of the soft limit article (see ../soft_limit.hpp): ten blocks of 8 KiB are allocated and
// freed, then ten of 16 KiB, and so on up to 32 MiB, so that a freed block never fits the next
// request. Nothing is written to the blocks.
#include <cstdlib>

#include "soft_limit.hpp"

namespace {

using soft_limit::kKiB;

constexpr std::size_t kStep = 8 * kKiB;
constexpr std::size_t kBlocks = 10;

std::uint64_t test(soft_limit::Slots& blocks, std::size_t largest) {
  std::uint64_t bytes = 0;
  for (std::size_t size = kStep; size < largest; size += kStep) {
    for (void*& block : blocks) {
      block = std::malloc(size);
      bench::check(block != nullptr, "malloc gave NULL");
      bytes += size;
    }
    // The blocks are not written to, so they hold no mark. It costs next to nothing to check that
    // each is apart from the previous one.
    for (std::size_t i = 1; i < kBlocks; ++i) {
      bench::check(soft_limit::apart(blocks[i - 1], blocks[i], size), "blocks overlapped");
    }
    for (void* block : blocks) std::free(block);
  }
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::size_t largest = arguments.number("largest_kib", 1024) * kKiB;
  const unsigned threads = arguments.threads();
  soft_limit::set(arguments, result);
  std::vector<soft_limit::Slots> slots = soft_limit::slots_for(threads, kBlocks);
  std::vector<std::uint64_t> bytes(threads);
  result.seconds =
      bench::in_threads(threads, [&](unsigned i) { bytes[i] = test(slots[i], largest); });
  result.value = result.seconds;
  const std::size_t last = largest > kStep ? (largest - 1) / kStep * kStep : 0;
  for (soft_limit::Slots& blocks : slots) {
    bench::check(last == 0 || blocks.were_apart(last), "blocks overlapped");
  }
  for (const std::uint64_t part : bytes) result.checksum += part;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "soft3",
    .title = "Soft limit, test 3: growing sizes",
    .what =
        "Every thread allocates and frees ten blocks of 8 KiB, then ten of 16 KiB, and so on (up "
        "to 32 MiB in the article), without writing to them. Elapsed time and peak memory are "
        "measured without a heap limit and, for the allocators that have one, with three limits.",
    .group = "seed allocator",
    .figure = "the soft limit article's table, test 3",
    .metric = "elapsed time",
    .plot = "table",
    .threads = {1, 2},
    // Sizes up to a quarter of the article's 32 MiB, with a quarter of its limits; or all of it.
    .cases = {{"no limit", "largest_kib=8192", "largest_kib=32768", "largest_kib=32768"},
              {"high limit", "largest_kib=8192 limit=125", "largest_kib=32768 limit=500",
               "largest_kib=32768 limit=500", soft_limit::kHaveLimit},
              {"middle limit", "largest_kib=8192 limit=100", "largest_kib=32768 limit=400",
               "largest_kib=32768 limit=400", soft_limit::kHaveLimit},
              {"low limit", "largest_kib=8192 limit=75", "largest_kib=32768 limit=300",
               "largest_kib=32768 limit=300", soft_limit::kHaveLimit}},
    .run = run,
};
