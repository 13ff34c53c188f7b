// SPDX-License-Identifier: Apache-2.0
// fork in a thread that is inside the allocator: in a signal handler that interrupted malloc. The
// tests hold the allocator's locks themselves, because no test could interrupt malloc exactly
// there.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "alloc/heap/orphans.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/instrument_hooks.hpp"
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

sync::Lock* const locks[] = {&checks_lock,   &samples_lock,           &heap_owners_lock,
                             &registry_lock, &orphans_lock,           &span_heap.lock(),
                             &metadata_lock, &container_limit.lock(), &heap_limit.lock()};

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

// ---- a fork in the handlers of a fork -----------------------------------------------------------
// The tests' handlers are registered before the allocator's, so they run while it holds its locks
// for the fork. They fork there, as a signal handler might.

void (*in_prepare)() = nullptr;
void (*in_parent)() = nullptr;

const int registered = pthread_atfork(
    [] {
      if (in_prepare != nullptr) in_prepare();
    },
    [] {
      if (in_parent != nullptr) in_parent();
    },
    nullptr);

bool all_locks_are(bool held) {
  for (sync::Lock* const lock : locks) {
    const bool taken = lock->try_lock();  // the thread itself cannot take it twice either
    if (taken) lock->unlock();
    if (taken == held) return false;
  }
  return true;
}

void fork_inside() {
  void (*const prepare)() = in_prepare;
  void (*const parent)() = in_parent;
  in_prepare = in_parent = nullptr;  // not again
  expect_code(forked([] { _exit(uses_malloc() ? 5 : 1); }), 5);
  in_prepare = prepare;
  in_parent = parent;
}

// musl, and glibc before 2.36, hold a lock of their own while they call handlers.
bool can_fork_in_handlers() {
  char version[64] = {};  // stays empty on musl
  confstr(_CS_GNU_LIBC_VERSION, version, sizeof version);
  return strverscmp(version, "glibc 2.36") >= 0;
}

TEST_F(ForkInside, AForkInTheHandlersOfAForkReleasesNoLock) {
  if (!can_fork_in_handlers()) GTEST_SKIP();
  ASSERT_EQ(registered, 0);
  ASSERT_TRUE(uses_malloc());
  static bool are_held[2];
  in_prepare = [] {
    fork_inside();
    are_held[0] = all_locks_are(true);
  };
  in_parent = [] {
    fork_inside();
    are_held[1] = all_locks_are(true);
  };
  const pid_t child = forked([] { _exit(uses_malloc() && all_locks_are(false) ? 3 : 1); });
  in_prepare = in_parent = nullptr;
  expect_code(child, 3);
  EXPECT_TRUE(are_held[0]);
  EXPECT_TRUE(are_held[1]);
  EXPECT_TRUE(all_locks_are(false));
  EXPECT_TRUE(uses_malloc());
  // The thread's own use of the locks is as before.
  for (sync::Lock* const lock : locks) {
    lock->lock();
    EXPECT_FALSE(lock->try_lock());
    lock->unlock();
  }
  EXPECT_TRUE(all_locks_are(false));
}

// The inner fork's child returns from the handler, and so makes the outer fork itself.
TEST_F(ForkInside, TheChildOfTheInnerForkGoesOn) {
  if (!can_fork_in_handlers()) GTEST_SKIP();
  ASSERT_TRUE(uses_malloc());
  static pid_t inner;
  in_prepare = [] {
    in_prepare = nullptr;
    inner = fork();
  };
  const pid_t outer = forked([] { _exit(uses_malloc() && all_locks_are(false) ? 3 : 1); });
  expect_code(outer, 3);
  if (inner == 0) _exit(HasFailure() || !all_locks_are(false) || !uses_malloc() ? 1 : 4);
  expect_code(inner, 4);
  EXPECT_TRUE(all_locks_are(false));
}

}  // namespace
}  // namespace corbel::alloc
