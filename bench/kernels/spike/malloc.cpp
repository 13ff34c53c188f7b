// SPDX-License-Identifier: Apache-2.0
// A load spike made by three threads, which free nearly all of it and then sleep for good. Nobody
// calls the allocator for them again: only the main thread goes on, with little. How fast, and how
// far, does the resident set come back?
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr unsigned kThreads = 3;
constexpr std::size_t kPage = 4096;
constexpr unsigned kSurvivorsIn100 = 8;
constexpr auto kInterval = std::chrono::milliseconds(250);

struct Block {
  void* address;
  std::uint64_t mark;
  std::size_t size;
};

struct Part {
  std::vector<Block> survivors;
  std::uint64_t sum = 0;
};

Block take(bench::Random& random) {
  const std::size_t size = bench::doubling_size(random, 32, 8192);
  const Block block{std::malloc(size), random.next(), size};
  bench::check(block.address != nullptr, "malloc gave NULL");
  auto* bytes = static_cast<unsigned char*>(block.address);
  for (std::size_t at = 0; at < size; at += kPage) bytes[at] = 1;
  bench::put_mark(block.address, size, block.mark);
  return block;
}

void give_back(const Block& block) {
  bench::check(bench::has_mark(block.address, block.size, block.mark), "a block has changed");
  std::free(block.address);
}

// The list itself is gone, too, before the thread sleeps.
void spike(std::uint64_t seed, std::size_t bytes, Part& part) {
  bench::Random random(seed);
  std::vector<Block> blocks;
  for (std::size_t made = 0; made < bytes;) {
    blocks.push_back(take(random));
    made += blocks.back().size;
    part.sum += blocks.back().mark ^ made;
  }
  std::vector<Block> kept;
  for (const Block& block : blocks) {
    if (random.below(100) < kSurvivorsIn100) {
      kept.push_back(block);
    } else {
      give_back(block);
    }
  }
  part.survivors = std::move(kept);
}

// The pages that no allocator could have given back.
double pinned_mib(const std::vector<Part>& parts) {
  std::vector<std::uintptr_t> pages;
  for (const Part& part : parts) {
    for (const Block& block : part.survivors) {
      const auto first = reinterpret_cast<std::uintptr_t>(block.address);
      for (std::uintptr_t page = first / kPage; page <= (first + block.size - 1) / kPage; ++page) {
        pages.push_back(page);
      }
    }
  }
  std::sort(pages.begin(), pages.end());
  const auto end = std::unique(pages.begin(), pages.end());
  return static_cast<double>(end - pages.begin()) * kPage / (1 << 20);
}

double resident_mib() { return static_cast<double>(bench::status_kib("VmRSS")) / 1024; }

// The main thread: some small blocks now and then, as of a program that waits for the next load.
void watch(unsigned samples, bench::Result& result) {
  bench::Random random(99);
  std::vector<double>& resident = result.series["rss_mib"];
  std::vector<double>& seconds = result.series["seconds"];
  resident.reserve(samples + 1);
  seconds.reserve(samples + 1);
  const double begin = bench::now();
  const auto start = std::chrono::steady_clock::now();
  for (unsigned i = 0; i <= samples; ++i) {
    std::this_thread::sleep_until(start + i * kInterval);
    seconds.push_back(bench::now() - begin);
    resident.push_back(resident_mib());
    Block few[16];
    for (Block& block : few) block = take(random);
    for (const Block& block : few) give_back(block);
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::size_t bytes = (arguments.number("mib", 10) << 20U) / kThreads;
  const auto samples = static_cast<unsigned>(arguments.number("samples", 1));
  std::vector<Part> parts(kThreads);
  std::latch made(kThreads);
  std::latch over(1);
  std::vector<std::thread> threads;
  const double begin = bench::now();
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      spike(i + 1, bytes, parts[i]);
      made.count_down();
      over.wait();
    });
  }
  made.wait();
  result.seconds = bench::now() - begin;
  watch(samples, result);
  result.value = result.series["rss_mib"].back();
  std::size_t live = 0;
  for (const Part& part : parts) {
    result.checksum += part.sum;
    for (const Block& block : part.survivors) live += block.size;
  }
  result.extra["live MiB"] = static_cast<double>(live) / (1 << 20);
  result.extra["pinned pages MiB"] = pinned_mib(parts);
  over.count_down();
  for (std::thread& thread : threads) thread.join();
  for (const Part& part : parts)
    std::for_each(part.survivors.begin(), part.survivors.end(), give_back);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "spike",
    .title = "After a load spike",
    .what =
        "Three threads make 300 MiB (100 in a quick run), free all but 8 % of the blocks and "
        "sleep; the main thread takes a few blocks four times a second. The curve is the resident "
        "set from then on, the figure its end; pages with a surviving block cannot be given back.",
    .group = "modern allocator",
    .metric = "resident memory at the end",
    .unit = "MiB",
    .plot = "series",
    .cases = {{"", "mib=100 samples=6", "mib=300 samples=24", "mib=300 samples=24"}},
    .run = run,
};
