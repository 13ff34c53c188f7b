// SPDX-License-Identifier: Apache-2.0
// The allocator's lock in the child of a fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "sync/lock.hpp"

namespace corbel::sync {
namespace {

// A thread forks in a signal handler that interrupted it while it held a lock. Meanwhile another
// thread holds a lock of a lower rank for a fork of its own, which the child does not have.
TEST(Lock, TheChildForgetsTheForkOfAnotherThread) {
  Lock low(1);
  Lock high(2);
  std::atomic<bool> taken{false};
  std::atomic<bool> done{false};
  std::jthread another([&] {
    Lock::begin_fork();
    low.lock_for_fork();
    taken = true;
    while (!done) std::this_thread::yield();
    low.unlock_after_fork_in_parent();
    Lock::end_fork();
  });
  while (!taken) std::this_thread::yield();
  high.lock();
  Lock::begin_fork();
  EXPECT_FALSE(low.is_held_before_fork());
  EXPECT_TRUE(high.is_held_before_fork());
  EXPECT_FALSE(low.try_lock_for_fork());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that waits for itself
    low.reset_in_child();
    high.unlock_after_fork_in_child();
    Lock::end_fork();
    {
      const LockGuard guard(low);
    }
    {
      const LockGuard guard(high);
    }  // the handler may pass the lock that it holds
    high.unlock();
    _exit(high.try_lock() ? 0 : 1);
  }
  high.unlock_after_fork_in_parent();
  Lock::end_fork();
  high.unlock();
  done = true;
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace corbel::sync
