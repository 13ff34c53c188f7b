// SPDX-License-Identifier: Apache-2.0
// malloc in threads that the allocator has already been told to have ended, as destructors of the
// program's thread_local objects may call it: no heap is left behind by such a thread.
#include <corbel/malloc.h>

#include "../at_end.hpp"
#include "checks.hpp"

namespace {

decltype(&scalable_malloc) allocate;
decltype(&scalable_free) release;
decltype(&corbel_heap_stats) statistics;

template <class Function>
bool find(HMODULE library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(reinterpret_cast<void*>(GetProcAddress(library, name)));
  return function != nullptr;
}

void use() {
  void* const blocks[] = {allocate(100), allocate(5000), allocate(100), allocate(200000)};
  for (void* const b : blocks) {
    check(b != nullptr, "a late block");
    std::memset(b, 1, 100);
    release(b);
  }
}

DWORD WINAPI short_thread(void* uses_early) {
  if (uses_early != nullptr) use();
  return 0;
}

struct corbel_heap_stats stats_after(int count) {
  for (int i = 0; i < count; ++i) {
    void* const uses_early = i % 2 == 0 ? &allocate : nullptr;
    const HANDLE thread = CreateThread(nullptr, 0, short_thread, uses_early, 0, nullptr);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
  }
  static struct corbel_heap_stats stats;
  statistics(&stats, sizeof stats);
  return stats;
}

}  // namespace

int main() {
  // First, so that it is told of a thread's end after the allocator.
  if (!call_at_thread_end(use)) return 2;
  const HMODULE library = LoadLibraryA("corbelmalloc.dll");
  if (!find(library, "scalable_malloc", allocate) || !find(library, "scalable_free", release) ||
      !find(library, "corbel_heap_stats", statistics)) {
    return 3;
  }
  use();
  const struct corbel_heap_stats before = stats_after(10);
  const struct corbel_heap_stats after = stats_after(200);
  check(after.threads <= 2, "the heaps in use");
  constexpr std::size_t kMiB = std::size_t(1) << 20;
  check(after.footprint <= before.footprint + kMiB, "the footprint");
  std::printf("%zu heaps, %zu KiB more\n", after.threads,
              (after.footprint - before.footprint) / 1024);
  return result();
}
