// SPDX-License-Identifier: Apache-2.0
// A program that was written for tbbmalloc on Windows: OpenMP threads that allocate under a soft
// heap limit, compiled against <tbb/...>. Three patterns known from the literature on soft limits,
// each run by every thread at once:
//   1  rounds of 1000 blocks of one random size up to 100 KiB
//   2  a million blocks of 100 bytes, freed in the order they were allocated
//   3  ten blocks each of sizes that grow up to 8 MiB
// Usage: soft_limit_client PATTERN LIMIT_IN_MIB THREADS
// The live memory is below the limit, so the peak of what Windows counts as the process's memory,
// its commit charge, must be, too.
#include <Windows.h>
// After Windows.h.
#include <Psapi.h>
#include <tbb/scalable_allocator.h>
#include <tbb/tick_count.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::size_t kBeside = 24 * kMiB;  // the program, its libraries, stacks and arrays

void take_and_give_back(std::vector<unsigned char*>& blocks, std::size_t size) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<unsigned char*>(scalable_malloc(size));
    if (blocks[i] == nullptr) std::abort();
    std::memset(blocks[i], int(i & 0xff), size);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i][0] != (i & 0xff) || blocks[i][size - 1] != (i & 0xff)) std::abort();
    scalable_free(blocks[i]);
  }
}

void random_sizes() {
  std::minstd_rand random(1);
  std::vector<unsigned char*> blocks(1000);
  for (int round = 0; round < 8; ++round) {
    take_and_give_back(blocks, 1 + random() % (100 * kKiB));
  }
}

void one_size() {
  std::vector<unsigned char*> blocks(1000000);
  for (int round = 0; round < 2; ++round) take_and_give_back(blocks, 100);
}

void growing_sizes() {
  std::vector<unsigned char*> blocks(10);
  for (std::size_t size = 8 * kKiB; size < 8 * kMiB; size += 232 * kKiB) {
    take_and_give_back(blocks, size);
  }
}

std::size_t peak_commit_charge() {
  PROCESS_MEMORY_COUNTERS counters{};
  counters.cb = sizeof counters;
  if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) std::abort();
  return counters.PeakPagefileUsage;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int pattern = std::atoi(argv[1]);
  const std::size_t limit = std::size_t(std::atoi(argv[2])) * kMiB;
  [[maybe_unused]] const int threads = std::atoi(argv[3]);
  if (scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT, intptr_t(limit)) != TBBMALLOC_OK) {
    std::puts("the limit was refused");
    return 1;
  }
  void (*const patterns[])() = {random_sizes, one_size, growing_sizes};
  const tbb::tick_count begin = tbb::tick_count::now();
#pragma omp parallel num_threads(threads)
  patterns[pattern - 1]();
  const double seconds = (tbb::tick_count::now() - begin).seconds();
  const std::size_t peak = peak_commit_charge();
  std::printf("pattern %d: limit %zu MiB, peak %.1f MiB, %.2f s\n", pattern, limit / kMiB,
              double(peak) / kMiB, seconds);
  return peak <= limit + kBeside ? 0 : 1;
}
