// SPDX-License-Identifier: Apache-2.0
// What the kernels on load spikes share: a load of blocks that are made, a few of which survive,
// and the resident set watched from then on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace load_spike {

inline constexpr std::size_t kPage = 4096;
inline constexpr unsigned kSurvivorsIn100 = 8;
inline constexpr auto kInterval = std::chrono::milliseconds(250);

struct Block {
  void* address;
  std::uint64_t mark;
  std::size_t size;
};

// The part of one thread.
struct Part {
  std::vector<Block> survivors;
  std::uint64_t sum = 0;
};

inline Block take(bench::Random& random) {
  const std::size_t size = bench::doubling_size(random, 32, 8192);
  const Block block{std::malloc(size), random.next(), size};
  bench::check(block.address != nullptr, "malloc gave NULL");
  auto* bytes = static_cast<unsigned char*>(block.address);
  for (std::size_t at = 0; at < size; at += kPage) bytes[at] = 1;
  bench::put_mark(block.address, size, block.mark);
  return block;
}

inline void give_back(const Block& block) {
  bench::check(bench::has_mark(block.address, block.size, block.mark), "a block has changed");
  std::free(block.address);
}

inline std::vector<Block> make(bench::Random& random, std::size_t bytes, Part& part) {
  std::vector<Block> blocks;
  for (std::size_t made = 0; made < bytes;) {
    blocks.push_back(take(random));
    made += blocks.back().size;
    part.sum += blocks.back().mark ^ made;
  }
  return blocks;
}

// Frees all but a few; the list goes, too.
inline void survive(bench::Random& random, std::vector<Block> blocks, Part& part) {
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
inline double pinned_mib(const std::vector<Part>& parts) {
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

inline double resident_mib() { return static_cast<double>(bench::status_kib("VmRSS")) / 1024; }

// `now_and_then` is what the program goes on with while it waits for the next load.
template <typename NowAndThen>
void watch(unsigned samples, bench::Result& result, NowAndThen now_and_then) {
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
    now_and_then();
  }
}

// Some small blocks.
inline void work_a_little(bench::Random& random) {
  Block few[16];
  for (Block& block : few) block = take(random);
  for (const Block& block : few) give_back(block);
}

// What the parts came to, and what is left of them.
inline void conclude(const std::vector<Part>& parts, bench::Result& result) {
  result.value = result.series["rss_mib"].back();
  std::size_t live = 0;
  for (const Part& part : parts) {
    result.checksum += part.sum;
    for (const Block& block : part.survivors) live += block.size;
  }
  result.extra["live MiB"] = static_cast<double>(live) / (1 << 20);
  result.extra["pinned pages MiB"] = pinned_mib(parts);
}

inline void give_back(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const Block& block : part.survivors) give_back(block);
  }
}

}  // namespace load_spike
