// SPDX-License-Identifier: Apache-2.0
// fork in a program whose other threads allocate at full speed. Parent and child continue: the
// child frees what it inherited, allocates, starts threads, and forks again.
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "life.hpp"

namespace {

constexpr int kForks = 700;
constexpr int kForksOfControl = 100;  // only shows that the test is fair
constexpr int kSizes = 24;
constexpr std::size_t kLargest = 400000;

std::atomic<bool> stop{false};
std::atomic<unsigned char*> exchange_slots[64];

std::size_t size_number(unsigned n) {
  std::size_t size = 16;
  for (unsigned i = 0; i < n % kSizes; ++i) size = size * 3 / 2 + 8;
  return size < kLargest ? size : kLargest;
}

// Allocates small and large blocks, which this thread frees or, through a slot, another.
void allocate_without_end(unsigned seed) {
  while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = size_number(seed >> 20);
    auto* block = static_cast<unsigned char*>(std::malloc(size));
    CHECK(block != nullptr);
    block[0] = 1;
    block[size - 1] = 2;
    // acq_rel: passes the block's bytes on
    block = exchange_slots[(seed >> 8) % 64].exchange(block, std::memory_order_acq_rel);
    if ((seed >> 28) == 0) block = static_cast<unsigned char*>(std::realloc(block, size * 2));
    std::free(block);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  return status;
}

void child_life(unsigned char* inherited, int number) {
  life::give_up_after(60);
  life::free_block(inherited, 1500);
  life::use_malloc(2);
  // Blocks that the threads missing in the child held, or were just freeing.
  for (auto& slot : exchange_slots) {
    // acq_rel: as in allocate_without_end
    std::free(slot.exchange(nullptr, std::memory_order_acq_rel));
  }
  if (number % 4 == 0) {
    unsigned char* mine = life::make_block(777);
    std::thread([mine] {
      life::free_block(mine, 777);
      life::use_malloc(3);
    }).join();
  }
  if (number % 8 == 0) {
    unsigned char* mine = life::make_block(50);
    const pid_t grandchild = fork();
    CHECK(grandchild >= 0);
    if (grandchild == 0) {
      life::free_block(mine, 50);
      life::use_malloc(2);
      std::thread([] { life::use_malloc(1); }).join();
      _exit(7);
    }
    const int status = wait_for(grandchild);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    life::free_block(mine, 50);
  }
}

}  // namespace

int main() {
  life::check_replacement();
  life::give_up_after(560);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back(allocate_without_end, i * 12345);
  const int forks = life::is_control() ? kForksOfControl : kForks;
  for (int number = 0; number < forks; ++number) {
    unsigned char* inherited = life::make_block(1500);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      child_life(inherited, number);
      _exit(3);
    }
    life::free_block(inherited, 1500);
    life::use_malloc(1);
    const int status = wait_for(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  stop.store(true, std::memory_order_relaxed);  // relaxed: only ends the loops
  for (std::thread& thread : threads) thread.join();
  return life::passed("fork storm");
}
