// SPDX-License-Identifier: Apache-2.0
// fork in a thread that is inside the allocator: in a signal handler that interrupted malloc. The
// tests hold the allocator's locks themselves, because no test could interrupt malloc exactly
// there.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "corbel/malloc.h"

namespace corbel::alloc {
namespace {

// A hang ends the test, and in a child the child.
class ForkInside : public testing::Test {
 protected:
  void SetUp() override { alarm(100); }
  void TearDown() override { alarm(0); }
};

bool uses_malloc() {
  for (const std::size_t size : {8U, 3000U, 100000U, 5000000U}) {
    char* block = static_cast<char*>(scalable_malloc(size));
    if (block == nullptr) return false;
    std::memset(block, 1, size);
    scalable_free(block);
  }
  return true;
}

// Forks, and runs `what` in the child.
template <class What>
pid_t forked(What what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    what();
  }
  return child;
}

void expect_code(pid_t child, int code) {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), code);
}

sync::Lock* const locks[] = {&heap_owners_lock, &registry_lock, &orphans_lock,
                             &span_heap.lock(), &metadata_lock, &container_limit.lock(),
                             &heap_limit.lock()};

TEST_F(ForkInside, NeverWaitsForALockThatTheThreadHolds) {
  ASSERT_TRUE(uses_malloc());
  for (sync::Lock* const lock : locks) {
    lock->lock();
    const pid_t child = forked([] { _exit(uses_malloc() ? 3 : 1); });
    expect_code(child, 3);
    lock->unlock();
    EXPECT_TRUE(uses_malloc());
    bool taken = false;
    std::thread([&] {
      taken = lock->try_lock();
      if (taken) lock->unlock();
    }).join();
    EXPECT_TRUE(taken) << "the lock is still held after the fork";
  }
}

TEST_F(ForkInside, AllLocksAtOnceAndAChildThatForksAgain) {
  ASSERT_TRUE(uses_malloc());
  for (sync::Lock* const lock : locks) lock->lock();
  const pid_t child = forked([] {
    expect_code(forked([] { _exit(uses_malloc() ? 4 : 1); }), 4);
    const bool works = uses_malloc();
    // The handler returns, and the interrupted code goes on.
    for (sync::Lock* const lock : locks) lock->unlock();
    bool others_do = false;
    std::thread([&] { others_do = uses_malloc(); }).join();
    _exit(works && others_do && uses_malloc() && !testing::Test::HasFailure() ? 3 : 1);
  });
  for (sync::Lock* const lock : locks) lock->unlock();
  expect_code(child, 3);
  EXPECT_TRUE(uses_malloc());
}

// The child gets a heap of its own.
TEST_F(ForkInside, TheHeapOfAnInterruptedSlowPathIsLeftAlone) {
  ASSERT_TRUE(uses_malloc());
  Heap* const heap = find_heap();
  SlowPath slow_path(heap);
  const pid_t child = forked([heap] { _exit(uses_malloc() && find_heap() != heap ? 3 : 1); });
  expect_code(child, 3);
  EXPECT_EQ(find_heap(), heap);
}

TEST_F(ForkInside, AnotherForkKeepsItsHeap) {
  ASSERT_TRUE(uses_malloc());
  Heap* const heap = find_heap();
  expect_code(forked([heap] { _exit(uses_malloc() && find_heap() == heap ? 3 : 1); }), 3);
}

// Another thread has a lock of a lower rank and waits for the one that the forking thread holds.
TEST_F(ForkInside, NeverWaitsForAThreadThatWaitsForIt) {
  ASSERT_TRUE(uses_malloc());
  sync::Lock& held = span_heap.lock();
  held.lock();
  std::atomic<bool> has_lower{false};
  std::thread other([&] {
    sync::LockGuard lower(heap_owners_lock);
    has_lower = true;
    sync::LockGuard higher(held);
  });
  while (!has_lower) std::this_thread::yield();
  const pid_t child = forked([] { _exit(uses_malloc() ? 3 : 1); });
  expect_code(child, 3);
  held.unlock();
  other.join();
  EXPECT_TRUE(uses_malloc());
}

}  // namespace
}  // namespace corbel::alloc
