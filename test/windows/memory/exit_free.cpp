// SPDX-License-Identifier: Apache-2.0
// free of another thread's block at the end of the process, by a thread that collects such blocks:
// it keeps the block.
#include <corbel/malloc.h>

#include <cstring>
#include <thread>

#include "../at_end.hpp"
#include "alloc/heap/heap.hpp"

namespace {

using corbel::alloc::Heap;

constexpr int kBlocks = 8;
void* blocks[kBlocks];

void at_end() {
  const Heap* const heap = corbel::alloc::heap_of_thread();
  const auto before = heap->outbox;
  if (before.latest == nullptr) TerminateProcess(GetCurrentProcess(), 3);
  for (int i = 1; i < kBlocks; ++i) scalable_free(blocks[i]);
  if (std::memcmp(&before, &heap->outbox, sizeof before) != 0) return;
  TerminateProcess(GetCurrentProcess(), 0);
}

}  // namespace

int main() {
  if (!call_at_end(at_end)) return 2;
  scalable_free(scalable_malloc(1000));  // so that this thread has a heap of its own
  std::thread([] {
    for (void*& b : blocks) b = scalable_malloc(32);
  }).join();
  scalable_free(blocks[0]);
  return 1;
}
