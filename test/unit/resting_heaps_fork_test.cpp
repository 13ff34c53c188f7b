// SPDX-License-Identifier: Apache-2.0
// Heaps that rest while the process forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "alloc/heap/allocate.hpp"
#include "alloc/heap/deallocate.hpp"
#include "alloc/heap/heap.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kSize = 96;

// Sends the blocks of the resting heap `heap` to it, and starts a thread. Whether that thread gets
// the heap, and the blocks.
bool next_thread_gets(Heap* heap, const std::vector<void*>& blocks) {
  for (void* block : blocks) deallocate(block);
  bool received = false;
  std::thread([&] {
    for (std::size_t i = 0; i < blocks.size(); ++i) allocate(kSize);
    received = this_heap == heap && !heap->inbox.has_any();
  }).join();
  return received;
}

// The child has no other threads, but the heaps that rested still do.
TEST(RestingHeapsForkTest, AThreadOfAChildGetsTheHeapToo) {
  deallocate(allocate(kSize));  // so that this thread has a heap of its own
  std::vector<void*> blocks(3000);
  Heap* heap = nullptr;
  std::thread([&] {
    for (void*& block : blocks) block = allocate(kSize);
    heap = this_heap;
  }).join();
  const pid_t child = fork();
  if (child == 0) _exit(next_thread_gets(heap, blocks) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "in the child";
  EXPECT_TRUE(next_thread_gets(heap, blocks)) << "in the parent";
}

}  // namespace
}  // namespace corbel::alloc
