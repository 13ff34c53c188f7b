// SPDX-License-Identifier: Apache-2.0
// After a load spike of which one block in twelve survives, malloc_trim leaves little more resident
// than the pages of the survivors.
//
// Usage: trim_pages WHOSE. The spike was made by "own" (the thread that trims), "ended" (threads
// that have ended) or "asleep" (threads that wait).
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "helper.hpp"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = std::size_t{300} << 20;
constexpr std::size_t kMaxBlocks = 300000;
constexpr unsigned kThreads = 3;

struct Block {
  unsigned char* address;
  std::size_t size;
};

// Each thread has a third of the array. It is mapped and touched before the heap is measured.
Block* blocks;
std::size_t kept[kThreads];

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

void spike(unsigned part, std::size_t bytes) {
  Random random(part);
  Block* const mine = blocks + part * (kMaxBlocks / kThreads);
  std::size_t count = 0;
  for (std::size_t made = 0; made < bytes; made += mine[count++].size) {
    CHECK(count < kMaxBlocks / kThreads);
    const std::size_t base = std::size_t{32} << random.below(8);
    const std::size_t size = base + random.below(base);
    mine[count] = {life::make_block(size), size};
  }
  std::size_t survivors = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (random.below(100) < 8) {
      mine[survivors++] = mine[i];
    } else {
      life::free_block(mine[i].address, mine[i].size);
    }
  }
  kept[part] = survivors;
}

// In KiB.
std::size_t pinned() {
  static std::uintptr_t pages[kMaxBlocks];
  std::size_t count = 0;
  for (unsigned part = 0; part < kThreads; ++part) {
    const Block* mine = blocks + part * (kMaxBlocks / kThreads);
    for (const Block* block = mine; block != mine + kept[part]; ++block) {
      const auto first = reinterpret_cast<std::uintptr_t>(block->address);
      for (auto page = first / kPage; page <= (first + block->size - 1) / kPage; ++page) {
        pages[count++] = page;
      }
    }
  }
  std::sort(pages, pages + count);
  return std::size_t(std::unique(pages, pages + count) - pages) * (kPage / 1024);
}

void check_resident(const char* when, std::size_t before) {
  CHECK(malloc_trim(0) == 1);
  const std::size_t resident = life::status_kib("VmRSS") - before;
  const std::size_t wanted = pinned();
  std::fprintf(stderr, "%s: resident %zu KiB, of which survivors pin %zu KiB\n", when, resident,
               wanted);
  CHECK(resident <= wanted + wanted / 10 + (4U << 10));
}

void free_survivors() {
  for (unsigned part = 0; part < kThreads; ++part) {
    const Block* mine = blocks + part * (kMaxBlocks / kThreads);
    for (std::size_t i = 0; i < kept[part]; ++i) life::free_block(mine[i].address, mine[i].size);
    kept[part] = 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  life::give_up_after(100);
  life::check_replacement();
  const std::size_t table = kMaxBlocks * sizeof(Block);
  void* memory = mmap(nullptr, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  blocks = static_cast<Block*>(std::memset(memory, 1, table));
  pinned();
  const std::size_t before = life::status_kib("VmRSS");

  if (std::strcmp(argv[1], "own") == 0) {
    // Twice: pages that came back into use are given back again.
    for (int round = 0; round < 2; ++round) {
      spike(0, kBytes / kThreads);
      check_resident("own", before);
      free_survivors();
    }
    return life::passed("trim pages");
  }
  const bool asleep = std::strcmp(argv[1], "asleep") == 0;
  std::atomic<unsigned> made{0};
  std::atomic<bool> over{false};
  std::thread threads[kThreads];
  for (unsigned i = 0; i < kThreads; ++i) {
    threads[i] = std::thread([&, i] {
      spike(i, kBytes / kThreads);
      made.fetch_add(1, std::memory_order_release);
      made.notify_all();
      if (asleep) over.wait(false, std::memory_order_acquire);
    });
  }
  if (asleep) {
    for (unsigned n = 0; n < kThreads; n = made.load(std::memory_order_acquire)) {
      made.wait(n, std::memory_order_acquire);
    }
    life::wait_until_others_sleep();
  } else {
    for (std::thread& thread : threads) thread.join();
  }
  check_resident(argv[1], before);
  over.store(true, std::memory_order_release);
  over.notify_all();
  if (asleep) {
    for (std::thread& thread : threads) thread.join();
  }
  free_survivors();
  check_resident("and after", before);
  return life::passed("trim pages");
}
