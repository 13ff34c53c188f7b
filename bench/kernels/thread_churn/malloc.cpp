// SPDX-License-Identifier: Apache-2.0
// Short-lived threads. Each leaves some blocks, which a thread of the next generation frees long
// after the first one has ended: the allocator must release caches and adopt slabs.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "core_time.hpp"
#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kBlocks = 300;
constexpr unsigned kLeft = 40;

struct Block {
  void* address;
  std::size_t size;
  std::uint64_t mark;
};

using Legacy = std::vector<Block>;

std::uint64_t give_back(const Block& block) {
  bench::check(bench::has_mark(block.address, block.size, block.mark), "a block has changed");
  std::free(block.address);
  return block.size;
}

std::uint64_t live_and_end(std::uint64_t seed, const Legacy& inherited, Legacy& left) {
  bench::Random random(seed);
  std::uint64_t bytes = 0;
  Block own[kBlocks];
  for (unsigned i = 0; i < kBlocks; ++i) {
    const std::size_t size = bench::skewed_size(random);
    own[i] = {std::malloc(size), size, random.next()};
    bench::check(own[i].address != nullptr, "malloc gave NULL");
    bench::put_mark(own[i].address, size, own[i].mark);
    if (i < inherited.size()) bytes += give_back(inherited[i]);
  }
  left.clear();
  for (unsigned i = 0; i < kBlocks; ++i) {
    if (i % (kBlocks / kLeft) == 0 && left.size() < kLeft) {
      left.push_back(own[i]);
    } else {
      bytes += give_back(own[i]);
    }
  }
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t least = arguments.number("ends", 400);  // rounded up to whole waves
  const unsigned width = arguments.threads();
  std::vector<Legacy> before(width);
  std::vector<Legacy> after(width);
  for (unsigned i = 0; i < width; ++i) {
    before[i].reserve(kLeft);
    after[i].reserve(kLeft);
  }
  std::atomic<std::uint64_t> bytes{0};
  const double begin = bench::now();
  std::uint64_t made = 0;
  for (; made < least; made += width) {
    std::vector<std::thread> generation;
    for (unsigned i = 0; i < width; ++i) {
      generation.emplace_back([&, i, seed = made + i + 1] {
        bytes.fetch_add(live_and_end(seed, before[(i + 1) % width], after[i]),
                        std::memory_order_relaxed);
      });
    }
    for (std::thread& thread : generation) thread.join();
    before.swap(after);
  }
  for (const Legacy& legacy : before) {
    for (const Block& block : legacy) {
      bytes.fetch_add(give_back(block), std::memory_order_relaxed);
    }
  }
  result.seconds = bench::now() - begin;
  result.value = bench::core_seconds_each(result.seconds, width, made) * 1e6;
  result.checksum = bytes.load(std::memory_order_relaxed);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "thread_churn",
    .title = "Short-lived threads",
    .what =
        "Threads start in waves and end after 300 small blocks each; 40 of these outlive their "
        "thread and are freed by a thread of the next wave. The figure is core time per thread, "
        "including its start and end: the elapsed time times the threads of a wave (or the "
        "cores, if there are fewer), divided by all threads.",
    .group = "modern allocator",
    .metric = "processor time of a thread",
    .unit = "us",
    .threads = {1, 2, 4},
    .cases = {{"", "ends=1000", "ends=8000", "ends=60000"}},
    .run = run,
};
