// SPDX-License-Identifier: Apache-2.0
// Exercises a program's uses of memory, checked byte by byte: every entry point, blocks of all
// sizes, threads that free each other's blocks, exceptions, fork. It needs only the C++ library, so
// that it also runs without a test framework.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef SMOKE_STATIC
extern "C" std::size_t scalable_msize(void* block);
#endif

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (!good) {
    std::printf("smoke: FAILED: %s\n", what);
    ++failures;
  }
}

std::size_t msize(void* block) {
#ifdef SMOKE_STATIC
  return scalable_msize(block);
#else
  using Msize = std::size_t (*)(void*);
  static const auto ask = reinterpret_cast<Msize>(dlsym(RTLD_DEFAULT, "scalable_msize"));
  return ask == nullptr ? 0 : ask(block);
#endif
}

bool filled(const unsigned char* block, std::size_t size, unsigned char value) {
  for (std::size_t i = 0; i < size; ++i) {
    if (block[i] != value) return false;
  }
  return true;
}

bool aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

void entry_points() {
  for (std::size_t size = 1; size < (std::size_t{64} << 20); size = size * 3 + 1) {
    auto* block = static_cast<unsigned char*>(std::malloc(size));
    expect(block != nullptr && msize(block) >= size, "malloc");
    expect(size <= 8 || aligned(block, 16), "malloc's alignment");
    std::memset(block, 7, size);
    block = static_cast<unsigned char*>(std::realloc(block, size * 2));
    expect(block != nullptr && filled(block, size, 7), "realloc keeps the content");
    std::free(block);
    block = static_cast<unsigned char*>(std::calloc(size, 1));
    expect(block != nullptr && filled(block, size, 0), "calloc clears");
    std::free(block);
  }
  for (std::size_t alignment = sizeof(void*); alignment <= 65536; alignment *= 2) {
    void* block = nullptr;
    expect(posix_memalign(&block, alignment, 100) == 0 && aligned(block, alignment),
           "posix_memalign");
    std::free(block);
    block = std::aligned_alloc(alignment, 4 * alignment);
    expect(block != nullptr && aligned(block, alignment), "aligned_alloc");
    expect(malloc_usable_size(block) >= 4 * alignment, "malloc_usable_size");
    std::free(block);
    block = ::operator new(100, std::align_val_t{alignment});
    expect(aligned(block, alignment), "aligned new");
    ::operator delete(block, std::align_val_t{alignment});
  }
  void* block = nullptr;
  expect(posix_memalign(&block, 3, 100) == EINVAL && block == nullptr, "posix_memalign refuses 3");
  volatile std::size_t huge = SIZE_MAX / 2 + 1;
  errno = 0;
  block = std::malloc(huge);
  expect(block == nullptr && errno == ENOMEM, "malloc refuses half of the address space");
  bool thrown = false;
  try {
    block = ::operator new(huge);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  expect(thrown, "new throws bad_alloc");
}

// Each thread frees the blocks of the one before it.
void threads() {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  static std::atomic<std::uint32_t*> slots[kThreads] = {};
  static std::atomic<bool> wrong{false};
  std::vector<std::thread> workers;
  for (int mine = 0; mine < kThreads; ++mine) {
    workers.emplace_back([mine] {
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        const std::size_t words = 1 + round % 500;
        auto* block = static_cast<std::uint32_t*>(std::malloc(words * sizeof(std::uint32_t)));
        for (std::size_t i = 0; i < words; ++i) block[i] = static_cast<std::uint32_t>(words);
        block = slots[(mine + round) % kThreads].exchange(block, std::memory_order_acq_rel);
        if (block == nullptr) continue;
        for (std::uint32_t i = 0, n = block[0]; i < n; ++i) {
          if (block[i] != n) wrong.store(true, std::memory_order_relaxed);
        }
        std::free(block);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (auto& slot : slots) std::free(slot.exchange(nullptr, std::memory_order_relaxed));
  expect(!wrong.load(std::memory_order_relaxed), "blocks that cross threads keep their content");
}

void exceptions_and_fork() {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      std::string text(static_cast<std::size_t>(i) + 1, 'x');
      throw std::runtime_error(text);
    } catch (const std::exception& error) {
      caught += std::strlen(error.what()) == static_cast<std::size_t>(i) + 1;
    }
  }
  expect(caught == 1000, "exceptions");

  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> lines;
    for (int i = 0; i < 1000; ++i) lines.emplace_back(static_cast<std::size_t>(i), 'y');
    _exit(lines.back().size() == 999 ? 0 : 1);
  }
  int status = -1;
  expect(waitpid(child, &status, 0) == child && status == 0, "malloc in a forked child");
}

}  // namespace

int main() {
  void* volatile block = std::malloc(100);
  const bool ours = msize(block) >= 100;
  std::free(block);
  if (!ours) {
    std::puts("smoke: not Corbel's malloc");
    return 1;
  }
  entry_points();
  threads();
  exceptions_and_fork();
  std::puts(failures == 0 ? "smoke: ok" : "smoke: failed");
  return failures == 0 ? 0 : 1;
}
