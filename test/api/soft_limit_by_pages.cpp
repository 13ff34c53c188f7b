// SPDX-License-Identifier: Apache-2.0
// A soft limit is kept if the blocks fit in whole pages: first in rounds of blocks of one random
// size of 16 KiB to 3 MiB, which together are 94 % of the limit, then in the first test of the
// article on the soft limit (1,000 blocks of one random size up to 100 KiB, in each of two threads)
// with 204 MiB in whole pages under a limit of 210 MiB. All is freed between the rounds, so each
// begins on memory that the sizes of the rounds before have left.
#include <corbel/malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "barrier.hpp"

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kPage = 4 * kKiB;

// The pages of a block are counted a moment before it is known which of them it leaves out.
constexpr std::size_t kMaxExcess = 64 * kKiB;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

std::vector<void*> take(std::size_t count, std::size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = scalable_malloc(size);
    check(block != nullptr, "allocation");
    for (std::size_t i = 0; i < size; i += kPage) static_cast<char*>(block)[i] = 1;
  }
  return blocks;
}

void give_back(const std::vector<void*>& blocks) {
  for (void* block : blocks) scalable_free(block);
}

// Returns by how much the footprint has exceeded the limit.
std::size_t excess() {
  struct corbel_heap_stats stats;
  check(corbel_heap_stats(&stats, sizeof stats) == 0, "statistics");
  std::printf("peak %.2f MiB, %.2f MiB above the limit\n",
              double(stats.peak_footprint) / double(kMiB),
              double(stats.limit_excess) / double(kMiB));
  return stats.limit_excess;
}

// What a block may count: its pages, or 6 % more than was asked.
std::size_t counted(std::size_t size) {
  return std::max((size + kPage - 1) / kPage * kPage, size + size * 6 / 100);
}

void rounds_of_random_sizes(std::size_t limit) {
  std::mt19937 random(1234);
  for (std::size_t max_size : {128 * kKiB, kMiB, 3 * kMiB}) {
    std::uniform_int_distribution<std::size_t> sizes(16 * kKiB, max_size);
    for (int round = 0; round < 40; ++round) {
      const std::size_t size = sizes(random);
      give_back(take(limit * 94 / 100 / counted(size), size));
    }
  }
}

void article(unsigned rounds) {
  constexpr unsigned kThreads = 2;
  constexpr std::size_t kMaxSize = 100 * kKiB;
  corbel::test::Barrier all_hold(kThreads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i + 1);
      std::uniform_int_distribution<std::size_t> sizes(8, kMaxSize);
      for (unsigned round = 0; round < rounds; ++round) {
        // Every fourth size is the largest of which the pages fit. The class above it, were there
        // four to a doubling, would not.
        const std::vector<void*> blocks = take(1000, round % 4 == 3 ? kMaxSize : sizes(random));
        all_hold.arrive_and_wait();
        give_back(blocks);
        all_hold.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  corbel_set_heap_limit(64 * kMiB);
  rounds_of_random_sizes(64 * kMiB);
  check(excess() <= kMaxExcess, "one thread exceeds the limit");
  corbel_set_heap_limit(210 * kMiB);
  article(16);
  check(excess() <= kMaxExcess, "two threads exceed the limit");
  return 0;
}
