// SPDX-License-Identifier: Apache-2.0
// How the allocator gets memory from the system and gives it back, through the public functions.
#include <corbel/malloc.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "barrier.hpp"
#include "checks.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t(1) << 20;

void clean_up() { scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr); }

std::vector<void*> blocks_of(std::size_t size, std::size_t count) {
  std::vector<void*> blocks(count);
  for (void*& b : blocks) {
    b = scalable_malloc(size);
    if (b != nullptr) std::memset(b, 0x5a, size);
  }
  return blocks;
}

void free_all(const std::vector<void*>& blocks) {
  for (void* const b : blocks) scalable_free(b);
}

void commit_follows_use() {
  for (const std::size_t size : {std::size_t(100), 60 * kMiB / 1024, 3 * kMiB}) {
    clean_up();
    const std::size_t before = committed();
    const std::vector<void*> blocks = blocks_of(size, 60 * kMiB / size);
    const std::size_t with = committed();
    check(with >= before + 55 * kMiB, "blocks are committed");
    check(with <= before + 80 * kMiB, "no more is committed than blocks need");
    free_all(blocks);
    clean_up();
    check(committed() <= before + 8 * kMiB, "freed memory is decommitted");
  }
}

void committed_again_as_zeros() {
  for (int round = 0; round < 3; ++round) {
    std::vector<unsigned char*> blocks(200);
    bool zero = true;
    for (auto*& b : blocks) {
      b = static_cast<unsigned char*>(scalable_calloc(1, 300000));
      zero = zero && b != nullptr;
      for (std::size_t i = 0; zero && i < 300000; i += 512) zero = b[i] == 0;
      if (b != nullptr) std::memset(b, 0xff, 300000);
    }
    check(zero, "calloc after a clean-up");
    for (void* const b : blocks) scalable_free(b);
    if (round % 2 == 0) clean_up();
  }
}

void spans_over_reservations() {
  const std::vector<void*> parts = blocks_of(kMiB, 200);
  free_all(parts);
  auto* const whole = static_cast<char*>(scalable_malloc(190 * kMiB));
  if (check(whole != nullptr, "a block larger than a region")) {
    std::memset(whole, 1, 190 * kMiB);
    auto* const larger = static_cast<char*>(scalable_realloc(whole, 260 * kMiB));
    check(larger != nullptr && larger[190 * kMiB - 1] == 1, "the content of a block that grew");
    scalable_free(larger);
  }
  void* const aligned = scalable_aligned_malloc(kMiB, 256 * kMiB);
  check(aligned != nullptr && reinterpret_cast<std::uintptr_t>(aligned) % (256 * kMiB) == 0,
        "an alignment larger than a region");
  scalable_aligned_free(aligned);
  clean_up();
}

void refusals() {
  errno = 0;
  SetLastError(4711);
  check(scalable_malloc(std::size_t(1) << 46) == nullptr, "half the address space is refused");
  check(errno == ENOMEM, "the errno of a refusal");
  check(GetLastError() == 4711, "the last error stays");
}

// Each C runtime has an errno of its own.
void errno_of_each_runtime() {
  int* places[2];
  for (int i = 0; i < 2; ++i) {
    const HMODULE runtime = LoadLibraryA(i == 0 ? "ucrtbase.dll" : "msvcrt.dll");
    const FARPROC find = GetProcAddress(runtime, "_errno");
    places[i] = reinterpret_cast<int* (*)()>(reinterpret_cast<void*>(find))();
  }
  *places[0] = 77;
  *places[1] = 78;
  void* block = nullptr;
  check(scalable_posix_memalign(&block, 64, 100) == 0, "an aligned block");
  scalable_free(block);
  check(scalable_posix_memalign(&block, 64, std::size_t(1) << 46) == ENOMEM, "no aligned block");
  check(*places[0] == 77 && *places[1] == 78, "the errno of each runtime is unchanged");
  check(scalable_malloc(std::size_t(1) << 46) == nullptr, "a refusal");
  check(*places[0] == ENOMEM && *places[1] == ENOMEM, "the errno of each runtime is set");
}

void file_numbers() {
  check(corbel_heap_profile_write_fd(1) == ENOTSUP, "a profile to the number of a file is refused");
}

void hard_limit() {
  clean_up();
  const std::size_t before = committed();
  const std::size_t limit = 64 * kMiB;
  check(corbel_set_heap_hard_limit(limit) == 0, "the hard limit is set");
  for (const std::size_t size : {std::size_t(200), std::size_t(30000), std::size_t(500000)}) {
    std::vector<void*> blocks;
    blocks.reserve(64 * kMiB / 200);
    errno = 0;
    while (void* const b = scalable_malloc(size)) {
      std::memset(b, 1, size);
      blocks.push_back(b);
    }
    check(errno == ENOMEM, "the errno at a limit");
    check(blocks.size() * size > limit / 2, "most of the limit is used");
    // The vector is the C runtime's; tables and what a page rounds up.
    check(committed() <= before + limit + 8 * kMiB, "what is committed follows the limit");
    free_all(blocks);
  }
  check(corbel_set_heap_hard_limit(0) == 0, "the hard limit is removed");
  clean_up();
}

void thread_end() {
  clean_up();
  std::thread([] { free_all(blocks_of(1000, 30000)); }).join();
  clean_up();
  // Not what the process has committed: the system may keep the thread's stack for the next one.
  struct corbel_heap_stats stats{};
  corbel_heap_stats(&stats, sizeof stats);
  check(stats.threads <= 1, "the heap of a thread that has ended");
  check(stats.footprint <= kMiB, "the memory of a thread that has ended");
}

// With a barrier the thread waits there, twice, while it has its blocks.
DWORD WINAPI short_thread(void* barrier) {
  void* blocks[20];
  for (std::size_t i = 0; i < 20; ++i) blocks[i] = scalable_malloc(40 * i + 1);
  for (int i = 0; i < 2 && barrier != nullptr; ++i) {
    static_cast<corbel::test::Barrier*>(barrier)->arrive_and_wait();
  }
  for (void* const b : blocks) scalable_free(b);
  return 0;
}

void short_threads() {
  constexpr int kBatch = 50;
  HANDLE threads[kBatch];
  const auto start = [&](corbel::test::Barrier* barrier) {
    for (HANDLE& t : threads) {
      t = CreateThread(nullptr, 65536, short_thread, barrier, STACK_SIZE_PARAM_IS_A_RESERVATION,
                       nullptr);
    }
  };
  const auto wait = [&] {
    WaitForMultipleObjects(kBatch, threads, TRUE, INFINITE);
    for (HANDLE const t : threads) CloseHandle(t);
  };
  // What a batch needs when all of it is alive.
  corbel::test::Barrier barrier(kBatch + 1);
  start(&barrier);
  barrier.arrive_and_wait();
  struct corbel_heap_stats stats{};
  corbel_heap_stats(&stats, sizeof stats);
  const auto footprint_of_batch = stats.footprint;
  barrier.arrive_and_wait();
  wait();
  constexpr int kBatches = 199;
  for (int i = 0; i < kBatches; ++i) {
    start(nullptr);
    wait();
  }
  corbel_heap_stats(&stats, sizeof stats);
  // It goes up and down, by how many threads take memory while others are giving theirs back. Heaps
  // left behind would need that of all batches.
  check(stats.footprint <= footprint_of_batch * kBatches / 8, "the footprint after 10,000 threads");
  check(stats.threads <= 2, "the heaps in use after 10,000 threads");
}

}  // namespace

int main(int count, char** arguments) {
  commit_follows_use();
  committed_again_as_zeros();
  spans_over_reservations();
  refusals();
  errno_of_each_runtime();
  file_numbers();
  hard_limit();
  thread_end();
  if (count > 1 && std::strcmp(arguments[1], "threads") == 0) short_threads();
  return result();
}
