// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels on load spikes: a load of blocks, of which a few survive, and the resident
// set from then on.
//
// The curve is drawn with a bound. It starts from the memory that no allocator can give back: the
// pages of the surviving blocks and of the lists of them, and the stacks of waiting threads. To
// that it adds a tenth, and 16 MiB for the program itself and the allocator's own needs.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
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
  std::size_t stack = 0;  // resident bytes, if the thread waits
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

// Frees all but a few, and the list.
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

// The pages that the surviving blocks pin, and their lists.
inline double pinned_mib(const std::vector<Part>& parts) {
  std::vector<std::uintptr_t> pages;
  const auto pin = [&](const void* address, std::size_t size) {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    for (std::uintptr_t page = first / kPage; page <= (first + size - 1) / kPage; ++page) {
      pages.push_back(page);
    }
  };
  for (const Part& part : parts) {
    if (part.survivors.empty()) continue;
    pin(part.survivors.data(), part.survivors.size() * sizeof(Block));
    for (const Block& block : part.survivors) pin(block.address, block.size);
  }
  std::sort(pages.begin(), pages.end());
  const auto end = std::unique(pages.begin(), pages.end());
  return static_cast<double>(end - pages.begin()) * kPage / (1 << 20);
}

// The resident bytes of a thread's stack. The query allocates, so it must come after the watch.
inline std::size_t stack_bytes(pthread_t thread) {
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(thread, &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &stack, &size);
  pthread_attr_destroy(&attributes);
  std::vector<unsigned char> resident(size / kPage + 1);
  if (mincore(stack, size, resident.data()) != 0) return 0;
  return kPage *
         static_cast<std::size_t>(std::count_if(resident.begin(), resident.end(),
                                                [](unsigned char page) { return page & 1U; }));
}

inline double resident_mib() { return static_cast<double>(bench::status_kib("VmRSS")) / 1024; }

// `now_and_then` is the work of the program while it waits for the next load.
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

// The first sample at or after `seconds`; none if the watch was shorter.
inline double resident_after(double seconds, const bench::Result& result) {
  const std::vector<double>& at = result.series.at("seconds");
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] >= seconds) return result.series.at("rss_mib")[i];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// The totals of the parts, and of the blocks that are left.
inline void conclude(const std::vector<Part>& parts, bench::Result& result) {
  constexpr double kMiB = 1 << 20;
  result.value = result.series["rss_mib"].back();
  result.extra["peak MiB"] = static_cast<double>(bench::status_kib("VmHWM")) / 1024;
  for (const unsigned seconds : {1U, 3U, 6U}) {
    const double resident = resident_after(seconds, result);
    if (resident == resident) {
      result.extra["after " + std::to_string(seconds) + " s MiB"] = resident;
    }
  }
  std::size_t live = 0;
  std::size_t stacks = 0;
  for (const Part& part : parts) {
    result.checksum += part.sum;
    stacks += part.stack;
    for (const Block& block : part.survivors) live += block.size;
  }
  const double pinned = pinned_mib(parts);
  result.extra["live MiB"] = static_cast<double>(live) / kMiB;
  result.extra["pinned pages MiB"] = pinned;
  result.extra["stacks MiB"] = static_cast<double>(stacks) / kMiB;
  result.extra["bound MiB"] = 1.1 * (pinned + static_cast<double>(stacks) / kMiB) + 16;
}

inline void give_back(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    for (const Block& block : part.survivors) give_back(block);
  }
}

}  // namespace load_spike
