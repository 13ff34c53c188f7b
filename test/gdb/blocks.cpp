// SPDX-License-Identifier: Apache-2.0
// Blocks in each of the places where the allocator has them, and tasks that wait. test_gdb.py looks
// at them in stop_here().
#include <corbel/malloc.h>
#include <corbel/task_group.hpp>

#include <atomic>
#include <thread>

void* used = nullptr;
void* freed = nullptr;      // its slab has it
void* listed = nullptr;     // a bin has it
void* untouched = nullptr;  // never allocated
void* large = nullptr;
void* sent = nullptr;        // another thread has sent it back
void* not_sent = nullptr;    // another thread is about to
void* sent_small = nullptr;  // the second of a batch of the smallest blocks
void* borrowed = nullptr;    // another thread keeps it for itself
void* purged = nullptr;      // its page was given back
int on_no_heap = 0;

namespace {

constexpr int kBlocks = 600;  // more than an outbox has room for
void* blocks[kBlocks];
void* small_blocks[kBlocks];
void* pages[200];
std::atomic<bool> is_ready{false};
std::atomic<bool> go_on{false};

__attribute__((noinline)) void stop_here() { __asm__ volatile("" : : : "memory"); }

void wait_for(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

}  // namespace

int main() {
  // A used block in each slab keeps the slab, but not the pages of the others.
  for (void*& page : pages) page = scalable_malloc(3000);
  purged = pages[111];
  for (int i = 0; i < 200; ++i) {
    if (i % 10 != 0) scalable_free(pages[i]);
  }
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);

  // Sizes that nothing else here has.
  used = scalable_malloc(700);
  freed = scalable_malloc(700);
  scalable_free(freed);
  large = scalable_malloc(1000000);
  void* const first = scalable_malloc(200);
  listed = static_cast<char*>(first) + scalable_msize(first);
  untouched = static_cast<char*>(first) + 100 * scalable_msize(first);

  for (void*& block : blocks) block = scalable_malloc(64);
  for (void*& block : small_blocks) block = scalable_malloc(8);
  sent = blocks[0];
  sent_small = small_blocks[0];
  not_sent = blocks[kBlocks - 10];
  borrowed = blocks[kBlocks - 1];

  std::thread other([] {
    for (void* const block : small_blocks) scalable_free(block);
    for (int i = 0; i < kBlocks - 9; ++i) scalable_free(blocks[i]);
    // Having sent so many, the thread keeps some once it allocates such blocks, too.
    static void* volatile own = scalable_malloc(64);
    for (int i = kBlocks - 9; i < kBlocks; ++i) scalable_free(blocks[i]);
    scalable_free(own);
    is_ready.store(true);
    wait_for(go_on);
  });
  wait_for(is_ready);

  corbel::task_group group;
  for (int i = 0; i < 5; ++i) group.run([] { wait_for(go_on); });
  stop_here();
  go_on.store(true);
  group.wait();
  other.join();
  return 0;
}
