// SPDX-License-Identifier: Apache-2.0
// A request that no address space can hold, in a program whose heap is full of holes. It is
// refused, and the attempt to serve it does not split the heap into more mappings than a process
// may have.
#include <pthread.h>

#include "life.hpp"

namespace {

std::size_t mappings() {
  static char text[1 << 16];
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  CHECK(file != nullptr);
  std::size_t lines = 0;
  while (const std::size_t n = std::fread(text, 1, sizeof text, file)) {
    for (std::size_t i = 0; i < n; ++i) lines += text[i] == '\n';
  }
  std::fclose(file);
  return lines;
}

void check_threads() {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, [](void* p) { return p; }, nullptr) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
}

}  // namespace

int main() {
  life::give_up_after(200);
  life::check_replacement();
  // Half of each alignment stays free: as many holes as the system allows mappings.
  constexpr std::size_t kBlocks = 70000;
  static void* blocks[kBlocks];
  for (void*& block : blocks) {
    block = std::aligned_alloc(128 << 10, 60000);
    CHECK(block != nullptr);
  }
  check_threads();
  const std::size_t before = mappings();
  const std::size_t sizes[] = {
      std::size_t{1} << 62,
      std::size_t{PTRDIFF_MAX} - 100,
      (std::size_t{1} << 48) - (std::size_t{1} << 30),
#if defined(__x86_64__)
      (std::size_t{1} << 47) - (std::size_t{1} << 30),
#endif
  };
  for (const std::size_t size : sizes) {
    errno = 0;
    void* volatile block = std::malloc(size);
    CHECK(block == nullptr);
    CHECK(errno == ENOMEM);
    CHECK(mappings() < before + 2000);
    check_threads();
  }
  // Whether this succeeds depends on the system.
  errno = 0;
  void* volatile block = std::malloc(std::size_t{1} << 46);
  CHECK(block != nullptr || errno == ENOMEM);
  std::free(block);
  std::fprintf(stderr, "mappings: %zu, then %zu\n", before, mappings());
  CHECK(mappings() < before + 2000);
  check_threads();
  life::use_malloc(10);
  for (void* each : blocks) std::free(each);
  return life::passed("absurd sizes");
}
