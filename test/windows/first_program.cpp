// SPDX-License-Identifier: Apache-2.0
// A program that allocates, in several threads, from a library without a C runtime.
#include <corbel/malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

// Blocks of many sizes, kept for a while, with their content checked at the end.
bool use_memory(unsigned seed) {
  struct Kept {
    unsigned char* block;
    std::size_t size;
  };
  std::vector<Kept> kept(500);
  std::uint64_t random = seed * 2 + 1;
  bool right = true;
  for (int i = 0; i < 50000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    Kept& k = kept[(random >> 33) % kept.size()];
    if (k.block != nullptr) {
      right = right && k.block[0] == (k.size & 0xff) && k.block[k.size - 1] == (k.size & 0xff);
      scalable_free(k.block);
    }
    k.size = 1 + (random >> 40) % (random % 64 == 0 ? 200000 : 1000);
    k.block = static_cast<unsigned char*>(scalable_malloc(k.size));
    if (k.block == nullptr) return false;
    std::memset(k.block, int(k.size & 0xff), k.size);
  }
  for (const Kept& k : kept) scalable_free(k.block);
  return right;
}

}  // namespace

int main() {
  check(use_memory(1), "the content of blocks of the main thread");
  bool right[4] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([i, &right] { right[i] = use_memory(i); });
  for (std::thread& t : threads) t.join();
  for (const bool r : right) check(r, "the content of blocks of a thread");

  // From one thread to another that has ended meanwhile.
  void* from_thread = nullptr;
  std::thread([&] { from_thread = scalable_malloc(100); }).join();
  check(scalable_msize(from_thread) >= 100, "the size of a block whose thread has ended");
  scalable_free(from_thread);

  // Each thread takes over the heap of one that has ended.
  for (int i = 0; i < 100; ++i) {
    std::thread([] { scalable_free(scalable_malloc(10)); }).join();
  }
  struct corbel_heap_stats stats{};
  corbel_heap_stats(&stats, sizeof stats);
  check(stats.threads <= 2, "the number of heaps in use");

  void* const aligned = scalable_aligned_malloc(1000, 4096);
  check(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0, "an alignment");
  scalable_aligned_free(aligned);

  check(scalable_malloc(SIZE_MAX / 2) == nullptr, "the refusal of half the address space");
  check(scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr) >= 0, "a clean-up");
  std::printf(failures == 0 ? "right\n" : "wrong\n");
  return failures == 0 ? 0 : 1;
}
