// SPDX-License-Identifier: Apache-2.0
// A cycle of allocating and freeing costs no more the thousandth time than the first: neither the
// blocks nor the allocator's records of them accumulate.
//
// Usage: steady_footprint one|moving|burst|trims
#include <malloc.h>
#include <sys/mman.h>

#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "life.hpp"

namespace {

// A block that is given back to the system as soon as it is freed.
constexpr std::size_t kSize = 256U << 20;

std::uintptr_t one() {
  void* block = std::malloc(kSize);
  CHECK(block != nullptr);
  *static_cast<volatile char*>(block) = 1;
  const auto place = reinterpret_cast<std::uintptr_t>(block);
  std::free(block);
  return place;
}

// Another mapping of the program occupies the block's addresses: the next block must lie elsewhere.
void moving() {
  const std::uintptr_t middle = one() + kSize / 2;
  mmap(reinterpret_cast<void*>(middle / 65536 * 65536), 4096, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

void burst() {
  static char* blocks[512];
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(1 << 20));
    CHECK(block != nullptr);
    *static_cast<volatile char*>(block) = 1;
  }
  for (char* block : blocks) std::free(block);
  malloc_trim(0);
}

// Blocks of up to 4 MiB replace each other in many threads, while every thread trims again and
// again: free memory is given back in pieces of all sizes, and new memory goes between them.
void trims() {
  constexpr unsigned kThreads = 8;
  constexpr std::size_t kLive = std::size_t(16) << 20;  // of each thread
  const auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<char*, std::size_t>> blocks;
    std::size_t live = 0;
    for (int step = 0; step < 10000;) {
      if (live > kLive) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        std::free(blocks.back().first);
        live -= blocks.back().second;
        blocks.pop_back();
        continue;
      }
      const std::size_t size = 1 + random() % (4U << 20);
      char* block = static_cast<char*>(std::malloc(size));
      CHECK(block != nullptr);
      *static_cast<volatile char*>(block) = 1;
      blocks.emplace_back(block, size);
      live += size;
      if (++step % 10 == 0) malloc_trim(0);
    }
    for (const auto& block : blocks) std::free(block.first);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  malloc_trim(0);
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(200);
  life::check_replacement();
  CHECK(argc == 2);
  const std::string what = argv[1];
  const auto round = [&] {
    if (what == "one") one();
    if (what == "moving") moving();
    if (what == "burst") burst();
    if (what == "trims") trims();
  };
  if (what == "trims") {
    const std::size_t before = life::status_kib("VmSize");
    for (int i = 0; i < 3; ++i) round();
    const std::size_t after = life::status_kib("VmSize");
    std::fprintf(stderr, "addresses %zu, then %zu KiB\n", before, after);
    // Up to 40 MiB of it are stacks, which the C library keeps for the next threads.
    CHECK(after < before + (100U << 10));
    return life::passed("steady footprint");
  }
  const int rounds = what == "one" ? 2000 : what == "moving" ? 400 : 100;
  // The first rounds may set up tables that all later ones use.
  for (int i = 0; i < 3; ++i) round();
  const std::size_t resident = life::status_kib("VmRSS");
  const std::size_t addresses = life::status_kib("VmSize");
  for (int i = 0; i < rounds; ++i) round();
  const std::size_t resident_after = life::status_kib("VmRSS");
  const std::size_t addresses_after = life::status_kib("VmSize");
  std::fprintf(stderr, "resident %zu, then %zu KiB; addresses %zu, then %zu KiB\n", resident,
               resident_after, addresses, addresses_after);
  CHECK(resident_after < resident + (16U << 10));
  // The records of an address may stay reserved, but not resident.
  if (what != "moving") CHECK(addresses_after < addresses + (64U << 10));
  return life::passed("steady footprint");
}
