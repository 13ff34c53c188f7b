// SPDX-License-Identifier: Apache-2.0
// Eight threads allocate, free each other's blocks, move large ones, trim and end, while another
// thread reads the statistics all the time. They must add up in every snapshot, stay within their
// bounds, and be exact whenever all threads stand still.
//
// CORBEL_STRESS_SECONDS is the duration (5).
#include <corbel/malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "barrier.hpp"
#include "random.hpp"

namespace {

using Stats = struct corbel_heap_stats;
using Clock = std::chrono::steady_clock;

constexpr int kThreads = 8;
constexpr std::size_t kMaxLive = std::size_t{512} << 20;  // of all threads together

[[noreturn]] void fail(const char* what, std::size_t a, std::size_t b) {
  std::printf("polled stats: FAILED: %s: %zu and %zu\n", what, a, b);
  std::exit(1);
}

void expect_equal(const char* what, std::size_t a, std::size_t b) {
  if (a != b) fail(what, a, b);
}

void expect_at_most(const char* what, std::size_t a, std::size_t b) {
  if (a > b) fail(what, a, b);
}

Stats read_stats() {
  Stats s;
  if (corbel_heap_stats(&s, sizeof(s)) != 0) fail("corbel_heap_stats", 0, 0);
  return s;
}

void check_sums(const Stats& s) {
  expect_equal("sum of mapped", s.mapped,
               s.live + s.thread_cached + s.slab_free + s.orphan_free + s.slab_purged + s.uncarved +
                   s.free_resident + s.free_purged);
  std::size_t used = 0;
  std::size_t cached = 0;
  std::size_t free = 0;
  for (std::size_t i = 0; i < s.class_count; ++i) {
    const corbel_size_class_stats& c = s.classes[i];
    used += c.used_blocks * c.block_size;
    cached += c.cached_blocks * c.block_size;
    free += c.free_blocks * c.block_size;
  }
  expect_equal("blocks in use", used, s.live - s.large_live);
  expect_equal("cached blocks", cached, s.thread_cached);
  expect_equal("free blocks", free, s.slab_free + s.orphan_free);
  expect_at_most("large blocks", s.large_live, s.live);
  // A misread length would show here. The bound is doubled because memory that changes hands during
  // the walk may be seen in two places.
  expect_at_most("mapped", s.mapped, 2 * s.peak_mapped);
  expect_at_most("threads", s.threads, 3 * kThreads + 1);
}

// Passes blocks from one thread to another.
struct Exchange {
  std::mutex mutex;
  std::vector<void*> blocks;
};

struct Shared {
  corbel::test::Barrier still{kThreads + 1};
  std::atomic<std::size_t> held{0};  // bytes, by scalable_msize
  std::atomic<bool> over{false};
  std::atomic<bool> pausing{false};
  Exchange exchange;
};

void* make(Shared& shared, std::size_t size) {
  void* block = scalable_malloc(size);
  if (block == nullptr) fail("scalable_malloc", size, 0);
  std::memset(block, 1, size < 64 ? size : 64);
  shared.held.fetch_add(scalable_msize(block), std::memory_order_relaxed);
  return block;
}

void drop(Shared& shared, void* block) {
  shared.held.fetch_sub(scalable_msize(block), std::memory_order_relaxed);
  scalable_free(block);
}

std::size_t draw_size(corbel::stress::Random& random) {
  switch (random.below(20)) {
    case 0:
      return random.below(4 << 20);
    case 1:
    case 2:
      return random.below(200 << 10);
    default:
      return random.below(2000);
  }
}

void step(Shared& shared, corbel::stress::Random& random, std::vector<void*>& blocks) {
  // relaxed: a bound that may be exceeded slightly
  const bool room = shared.held.load(std::memory_order_relaxed) < kMaxLive && blocks.size() < 5000;
  const std::size_t choice = random.below(100);
  if (room && choice < 50) {
    blocks.push_back(make(shared, draw_size(random)));
  } else if (blocks.empty()) {
    return;
  } else {
    const std::size_t i = random.below(blocks.size());
    std::swap(blocks[i], blocks.back());
    if (choice < 60) {
      shared.held.fetch_sub(scalable_msize(blocks.back()), std::memory_order_relaxed);
      blocks.back() = scalable_realloc(blocks.back(), draw_size(random) + 1);
      shared.held.fetch_add(scalable_msize(blocks.back()), std::memory_order_relaxed);
      return;
    }
    if (choice < 80) {
      std::lock_guard guard(shared.exchange.mutex);
      shared.exchange.blocks.push_back(blocks.back());
      if (shared.exchange.blocks.size() > 100) {
        std::swap(blocks.back(), shared.exchange.blocks[random.below(100)]);
        shared.exchange.blocks.pop_back();
        return;
      }
    } else {
      drop(shared, blocks.back());
    }
    blocks.pop_back();
  }
}

// Works, and now and then ends and hands its blocks to a successor.
void live(Shared& shared, std::uint64_t seed) {
  std::vector<void*> blocks;
  corbel::stress::Random random(seed);
  // relaxed: the barriers order what depends on them
  while (!shared.over.load(std::memory_order_relaxed)) {
    std::thread([&] {
      const std::size_t steps = random.below(20000);
      for (std::size_t i = 0; i < steps; ++i) step(shared, random, blocks);
      if (random.below(10) == 0) scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
    }).join();
    if (!shared.pausing.load(std::memory_order_relaxed)) continue;
    shared.still.arrive_and_wait();
    shared.still.arrive_and_wait();
  }
  for (void* block : blocks) drop(shared, block);
}

// No thread but this one has a cache now. The helper thread may be at work, though: then a few
// blocks are briefly in flight, and free memory is given back between one figure and the next.
void check_standing_still(Shared& shared) {
  // relaxed: all threads that change it stand still
  const auto is_settled = [&](const Stats& s) {
    return s.live == shared.held.load(std::memory_order_relaxed) &&
           s.footprint == s.mapped - s.uncommitted + s.metadata;
  };
  const auto end = Clock::now() + std::chrono::seconds(10);
  Stats s = read_stats();
  while (!is_settled(s) && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    s = read_stats();
  }
  check_sums(s);
  expect_equal("live bytes", s.live, shared.held.load(std::memory_order_relaxed));
  expect_at_most("mapped", s.mapped, s.peak_mapped);
  expect_equal("footprint", s.footprint, s.mapped - s.uncommitted + s.metadata);
}

std::uint64_t poll(Shared& shared, Clock::time_point end) {
  std::uint64_t count = 0;
  std::vector<char> json(24 << 10);
  for (bool over = false; !over;) {
    const auto pause = Clock::now() + std::chrono::milliseconds(300);
    while (Clock::now() < pause) {
      check_sums(read_stats());
      if (++count % 16 == 0) {
        const std::size_t length = corbel_heap_stats_json(json.data(), json.size());
        expect_at_most("length of the JSON", length, json.size() - 1);
      }
    }
    // relaxed: the barriers order both variables, which change only while all threads stand still
    shared.pausing.store(true, std::memory_order_relaxed);
    shared.still.arrive_and_wait();
    shared.pausing.store(false, std::memory_order_relaxed);
    check_standing_still(shared);
    over = Clock::now() >= end;
    shared.over.store(over, std::memory_order_relaxed);
    shared.still.arrive_and_wait();
  }
  return count;
}

}  // namespace

int main() {
  const char* seconds = std::getenv("CORBEL_STRESS_SECONDS");
  const auto end = Clock::now() + std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 5);
  Shared shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&shared, i] { live(shared, std::uint64_t(i) + 1); });
  }
  const std::uint64_t count = poll(shared, end);
  for (std::thread& thread : threads) thread.join();
  for (void* block : shared.exchange.blocks) drop(shared, block);
  check_standing_still(shared);
  expect_equal("bytes held at the end", shared.held.load(std::memory_order_relaxed), 0);
  std::printf("polled stats: passed, %llu snapshots\n", static_cast<unsigned long long>(count));
  return 0;
}
