// SPDX-License-Identifier: Apache-2.0
//
// A client of the scalable_* functions, built by test_soft_limit.py the way such clients are built:
// against <tbb/...> headers, with OpenMP, linked with -ltbbmalloc. Three patterns known from the
// literature on soft heap limits, each run by every thread at once:
//   1  rounds of 1000 blocks of one random size up to 100 KiB, all written to
//   2  a million blocks of 100 bytes, freed in the order they were allocated
//   3  ten blocks each of sizes that grow by 8 KiB up to 32 MiB
// Usage: soft_limit_client PATTERN LIMIT_IN_MIB [system]

#include <omp.h>
#include <tbb/scalable_allocator.h>
#include <tbb/tick_count.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Functions {
  void* (*allocate)(std::size_t);
  void (*release)(void*);
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(3);
}

// Both ends of a block hold its number until it is freed, so that overlapping blocks are found.
class Blocks {
 public:
  Blocks(Functions functions, std::size_t count) : functions_(functions), blocks_(count) {}

  void take(std::size_t size, bool fill) {
    size_ = size;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      auto* block = static_cast<unsigned char*>(functions_.allocate(size));
      if (block == nullptr) fail("allocation");
      if (fill) std::memset(block, static_cast<int>(i), size);
      block[0] = block[size - 1] = static_cast<unsigned char>(i);
      blocks_[i] = block;
    }
  }

  void give_back() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto mark = static_cast<unsigned char>(i);
      if (blocks_[i][0] != mark || blocks_[i][size_ - 1] != mark) fail("a block was overwritten");
      functions_.release(blocks_[i]);
    }
  }

 private:
  Functions functions_;
  std::vector<unsigned char*> blocks_;
  std::size_t size_ = 0;
};

void random_sizes(Functions functions) {
  std::mt19937 random(1234);
  std::uniform_int_distribution<std::size_t> sizes(8, 100 * kKiB);
  Blocks blocks(functions, 1000);
  for (int round = 0; round < 100; ++round) {
    blocks.take(sizes(random), true);
    blocks.give_back();
  }
}

void one_size(Functions functions) {
  Blocks blocks(functions, 1000000);
  for (int round = 0; round < 25; ++round) {
    blocks.take(100, false);
    blocks.give_back();
  }
}

void growing_sizes(Functions functions) {
  Blocks blocks(functions, 10);
  for (std::size_t size = 8 * kKiB; size < 32 * kMiB; size += 8 * kKiB) {
    blocks.take(size, false);
    blocks.give_back();
  }
}

std::string status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, field.size() + 1, field + ":") == 0)
      return std::to_string(std::stoul(line.substr(field.size() + 1)));
  return "0";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int pattern = std::atoi(argv[1]);
  const auto limit = static_cast<std::size_t>(std::atoi(argv[2])) * kMiB;
  const bool system = argc > 3 && std::strcmp(argv[3], "system") == 0;
  const Functions functions =
      system ? Functions{std::malloc, std::free} : Functions{scalable_malloc, scalable_free};
  void (*const patterns[])(Functions) = {random_sizes, one_size, growing_sizes};
  if (pattern < 1 || pattern > 3) return 2;

  if (limit != 0 && scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT,
                                             static_cast<intptr_t>(limit)) != TBBMALLOC_OK)
    fail("setting the limit");

  int threads = 0;
  const tbb::tick_count start = tbb::tick_count::now();
#pragma omp parallel reduction(+ : threads)
  {
    patterns[pattern - 1](functions);
    threads += 1;
  }
  const double seconds = (tbb::tick_count::now() - start).seconds();
  if (!(seconds > 0.0 && seconds < 3600.0)) fail("tick_count");

  if (!system) {
    void* block = scalable_malloc(1000);
    if (scalable_msize(block) < 1000) fail("msize");
    scalable_free(block);
    errno = 0;
    if (scalable_malloc(static_cast<std::size_t>(-1) / 2) != nullptr || errno != ENOMEM)
      fail("a huge size");
  }
  std::printf("threads %d vmpeak %s rss %s seconds %.3f\n", threads, status("VmPeak").c_str(),
              status("VmHWM").c_str(), seconds);
}
