// SPDX-License-Identifier: Apache-2.0
// Test 2 of the soft limit article (see ../soft_limit.hpp): a million blocks of 100 bytes are
// allocated and freed in the same order, 100 times. The article never writes to them; one case
// does.
#include <cstdlib>

#include "marks.hpp"
#include "soft_limit.hpp"

namespace {

constexpr std::size_t kSize = 100;

template <bool touch>
void test(soft_limit::Slots& blocks, std::uint64_t repeats, unsigned thread) {
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const std::uint64_t first = (i * 4096 + thread) << 32;
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      blocks[j] = std::malloc(kSize);
      bench::check(blocks[j] != nullptr, "malloc gave NULL");
      if (touch) bench::put_mark(blocks[j], kSize, bench::mark_of(first + j));
    }
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      if (touch) {
        bench::check(bench::has_mark(blocks[j], kSize, bench::mark_of(first + j)),
                     "a block was overwritten");
      }
      std::free(blocks[j]);
    }
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t repeats = arguments.number("repeats", 5);
  const std::uint64_t count = arguments.number("blocks", 10'000);
  const bool touch = arguments.number("touch", 0) != 0;
  const unsigned threads = arguments.threads();
  soft_limit::set(arguments, result);
  std::vector<soft_limit::Slots> slots = soft_limit::slots_for(threads, count);
  result.seconds = bench::in_threads(
      threads, [&](unsigned i) { (touch ? test<true> : test<false>)(slots[i], repeats, i); });
  result.value = result.seconds;
  for (soft_limit::Slots& blocks : slots) {
    bench::check(blocks.were_apart(kSize), "blocks overlapped");
    result.checksum += blocks.size() * repeats;
  }
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "soft2",
    .title = "Soft limit, test 2: blocks of 100 bytes",
    .what =
        "Every thread repeatedly allocates blocks of 100 bytes (a million of them in the "
        "article) and frees them in the same order. Elapsed time and peak memory are measured "
        "without a heap limit and, for the allocators that have one, with three limits; one row "
        "writes to the blocks, which the article does not.",
    .group = "seed allocator",
    .figure = "the soft limit article's table, test 2",
    .metric = "elapsed time",
    .plot = "table",
    .threads = {1, 2},
    // A tenth or a fifth of the article's blocks, and of its limits.
    .cases = {{"no limit", "blocks=100000 repeats=8", "blocks=200000 repeats=40",
               "blocks=1000000 repeats=100"},
              {"touched", "touch=1 blocks=100000 repeats=4", "touch=1 blocks=200000 repeats=20",
               "touch=1 blocks=1000000 repeats=100"},
              {"high limit", "blocks=100000 repeats=8 limit=50",
               "blocks=200000 repeats=40 limit=100", "blocks=1000000 repeats=100 limit=500",
               soft_limit::kHaveLimit},
              {"middle limit", "blocks=100000 repeats=8 limit=40",
               "blocks=200000 repeats=40 limit=80", "blocks=1000000 repeats=100 limit=400",
               soft_limit::kHaveLimit},
              {"low limit", "blocks=100000 repeats=8 limit=30", "blocks=200000 repeats=40 limit=60",
               "blocks=1000000 repeats=100 limit=300", soft_limit::kHaveLimit}},
    .run = run,
};
