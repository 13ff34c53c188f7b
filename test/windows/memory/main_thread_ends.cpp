// SPDX-License-Identifier: Apache-2.0
// The main thread ends while the helper thread is there, and the other threads go on: they start
// threads, and the helper ends.
#include <corbel/malloc.h>

#include <atomic>

#include "checks.hpp"

namespace {

HANDLE main_thread;
std::atomic<bool> has_allocated{false};

std::size_t helper() {
  static struct corbel_heap_stats stats;  // one thread at a time
  corbel_heap_stats(&stats, sizeof stats);
  return stats.helper_thread;
}

DWORD WINAPI nothing(void*) { return 0; }

DWORD WINAPI go_on(void*) {
  void* const block = scalable_malloc(100);
  has_allocated = true;
  WaitForSingleObject(main_thread, INFINITE);
  check(helper() == CORBEL_HELPER_NONE, "the helper is to end");
  for (int i = 0; i < 100; ++i) {
    const HANDLE thread = CreateThread(nullptr, 0, nothing, nullptr, 0, nullptr);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
  }
  scalable_free(block);
  ExitProcess(UINT(result()));
}

}  // namespace

int main() {
  DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &main_thread, 0,
                  FALSE, DUPLICATE_SAME_ACCESS);
  CloseHandle(CreateThread(nullptr, 0, go_on, nullptr, 0, nullptr));
  while (!has_allocated) SwitchToThread();
  while (helper() == CORBEL_HELPER_NONE) {
    void* const block = scalable_malloc(std::size_t(16) << 20);
    std::memset(block, 1, std::size_t(16) << 20);
    scalable_free(block);
  }
  ExitThread(0);
}
