// SPDX-License-Identifier: Apache-2.0
// Test 1 of the soft limit article (see ../soft_limit.hpp): 1,000 blocks of one random size between
// 8 bytes and 100 KiB are allocated, filled with zeros and freed; 100 times, a new size each time.
//
// The article draws the sizes with rand(), which all threads share under a lock. Here each thread
// has its own generator, so that the sizes are the same in every run.
#include <cstdlib>
#include <cstring>

#include "marks.hpp"
#include "soft_limit.hpp"

namespace {

using soft_limit::kKiB;

constexpr std::size_t kMinSize = 8;
constexpr std::size_t kMaxSize = 100 * kKiB;
constexpr std::uint64_t kSeed = 1234;

std::uint64_t test(soft_limit::Slots& blocks, std::uint64_t repeats, unsigned thread) {
  bench::Random random(kSeed + thread);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const std::size_t size = kMinSize + random.below(kMaxSize - kMinSize + 1);
    const std::uint64_t first = (i * 4096 + thread) << 32;
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      blocks[j] = std::malloc(size);
      bench::check(blocks[j] != nullptr, "malloc gave NULL");
      std::memset(blocks[j], 0, size);
      bench::put_mark(blocks[j], size, bench::mark_of(first + j));
      bytes += size;
    }
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      bench::check(bench::has_mark(blocks[j], size, bench::mark_of(first + j)),
                   "a block was overwritten");
      std::free(blocks[j]);
    }
  }
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t repeats = arguments.number("repeats", 5);
  const std::uint64_t count = arguments.number("blocks", 100);
  const unsigned threads = arguments.threads();
  soft_limit::set(arguments, result);
  std::vector<soft_limit::Slots> slots = soft_limit::slots_for(threads, count);
  std::vector<std::uint64_t> bytes(threads);
  result.seconds =
      bench::in_threads(threads, [&](unsigned i) { bytes[i] = test(slots[i], repeats, i); });
  result.value = result.seconds;
  for (const std::uint64_t part : bytes) result.checksum += part;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "soft1",
    .title = "Soft limit, test 1: random sizes",
    .what =
        "Every thread allocates blocks of one random size up to 100 KiB (1,000 of them in the "
        "article), fills them and frees them, repeatedly with new sizes. Elapsed time and peak "
        "memory are measured without a heap limit and, for the allocators that have one, with "
        "three limits.",
    .group = "seed allocator",
    .figure = "the soft limit article's table, test 1",
    .metric = "elapsed time",
    .plot = "table",
    .threads = {1, 2},
    // A tenth or a half of the article's blocks, and of its limits. With 20 sizes the largest
    // comes near 100 KiB.
    .cases = {{"no limit", "blocks=100 repeats=60", "blocks=500 repeats=20",
               "blocks=1000 repeats=100"},
              {"high limit", "blocks=100 repeats=60 limit=50", "blocks=500 repeats=20 limit=250",
               "blocks=1000 repeats=100 limit=500", soft_limit::kHaveLimit},
              {"middle limit", "blocks=100 repeats=60 limit=40", "blocks=500 repeats=20 limit=200",
               "blocks=1000 repeats=100 limit=400", soft_limit::kHaveLimit},
              {"low limit", "blocks=100 repeats=60 limit=30", "blocks=500 repeats=20 limit=150",
               "blocks=1000 repeats=100 limit=300", soft_limit::kHaveLimit}},
    .run = run,
};
