// SPDX-License-Identifier: Apache-2.0
// Batches of 100 blocks of mixed sizes, freed in random order. Sizes and orders are drawn before
// the clock starts, so only the allocator and two marks in each block are timed.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kBatch = 100;
constexpr unsigned kPlans = 64;

struct Plan {
  std::uint16_t sizes[kBatch];
  std::uint8_t order[kBatch];
};

std::vector<Plan> draw_plans(std::uint64_t seed) {
  bench::Random random(seed);
  std::vector<Plan> plans(kPlans);
  for (Plan& plan : plans) {
    for (std::uint16_t& size : plan.sizes) {
      size = static_cast<std::uint16_t>(bench::skewed_size(random));
    }
    std::iota(plan.order, plan.order + kBatch, std::uint8_t{0});
    for (unsigned i = kBatch - 1; i > 0; --i) {
      std::swap(plan.order[i], plan.order[random.below(i + 1)]);
    }
  }
  return plans;
}

std::uint64_t run_batch(const Plan& plan, std::uint64_t number) {
  void* blocks[kBatch];
  for (unsigned i = 0; i < kBatch; ++i) {
    blocks[i] = std::malloc(plan.sizes[i]);
    bench::check(blocks[i] != nullptr, "malloc gave NULL");
    bench::put_mark(blocks[i], plan.sizes[i], number + i);
  }
  std::uint64_t bytes = 0;
  for (const std::uint8_t i : plan.order) {
    bench::check(bench::has_mark(blocks[i], plan.sizes[i], number + i), "a block has changed");
    bytes += plan.sizes[i];
    std::free(blocks[i]);
  }
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t batches = arguments.number("batches", 1000);
  const unsigned threads = arguments.threads();
  std::vector<std::vector<Plan>> plans;
  for (unsigned i = 0; i < threads; ++i) plans.push_back(draw_plans(i + 1));
  std::vector<std::uint64_t> bytes(threads);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    std::uint64_t sum = 0;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      // All bytes of the number differ: the last one is the mark at the block's end.
      const std::uint64_t number = (thread * batches + batch) * kBatch * 0x0101010101010101u;
      sum += run_batch(plans[thread][batch % kPlans], number);
    }
    bytes[thread] = sum;
  });
  const std::uint64_t pairs = batches * kBatch * threads;
  result.value = bench::core_seconds_each(result.seconds, threads, pairs) * 1e9;
  result.checksum = std::accumulate(bytes.begin(), bytes.end(), pairs);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "fastmix",
    .title = "Mixed sizes, freed in random order",
    .what =
        "Every thread allocates batches of 100 blocks of 9 to 1,024 bytes, most of them small, "
        "and frees each batch in random order; all of it stays in the cache. The figure is core "
        "time per pair of malloc and free: the elapsed time times the threads (or the cores, if "
        "there are fewer), divided by all pairs.",
    .group = "modern allocator",
    .metric = "processor time of a pair",
    .unit = "ns",
    .plot = "lines",
    .threads = {1, 2, 4},
    .cases = {{"", "batches=30000", "batches=300000", "batches=2000000"}},
    .run = run,
};
