// SPDX-License-Identifier: Apache-2.0
// A lock is held for tens of instructions: never across a system call, never while memory is
// filled. Every test on the fake operating system checks that (nothing_under_locks.cpp). This file
// tests the check itself, and runs the paths that call the system from many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "os/fake/fake.hpp"
#include "sync/lock.hpp"

namespace corbel {
namespace {

constexpr std::size_t kUnit = 64 << 10;

// Ends the process, a copy of the test's: exit code 0 if `expected` is the breach that was found.
template <typename Action>
[[noreturn]] void end_after(Action action, const char* expected) {
  {
    sync::Lock lock(1);
    sync::LockGuard guard(lock);
    action();
  }
  const char* breach = os::fake::first_breach();
  std::_Exit(breach != nullptr && std::strcmp(breach, expected) == 0 ? 0 : 1);
}

class NothingUnderLocksDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!config::kDebugChecks) GTEST_SKIP() << "only debug builds know which thread holds a lock";
    memory_ = static_cast<char*>(os::map(4 * kUnit, kUnit, nullptr));
    ASSERT_NE(memory_, nullptr);
  }
  void TearDown() override {
    if (memory_ != nullptr) os::unmap(memory_, 4 * kUnit);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

  template <typename Action>
  void expect_breach(Action action, const char* breach) {
    EXPECT_EXIT(end_after(action, breach), testing::ExitedWithCode(0), "") << breach;
  }

  char* memory_ = nullptr;
};

TEST_F(NothingUnderLocksDeathTest, SystemCallsAreFound) {
  expect_breach([] { os::map(kUnit, kUnit, nullptr); }, "map while a lock is held");
  expect_breach([this] { os::unmap(memory_, kUnit); }, "unmap while a lock is held");
  expect_breach([this] { os::decommit(memory_, kUnit); }, "decommit while a lock is held");
  expect_breach([this] { os::populate(memory_, kUnit); }, "populate while a lock is held");
  expect_breach([this] { os::is_resident(memory_); }, "is_resident while a lock is held");
  expect_breach([this] { os::move_pages(memory_, memory_ + kUnit, kUnit); },
                "move while a lock is held");
  expect_breach([this] { os::advise(memory_, kUnit, os::PageAdvice::kSparse); },
                "advice while a lock is held");
}

TEST_F(NothingUnderLocksDeathTest, FillingMemoryIsFound) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer replaces memset";
#endif
  volatile std::size_t size = kUnit;
  expect_breach([&] { std::memset(memory_, 0, size); }, "memset while a lock is held");
}

// Several threads allocate, zero, reallocate, trim and end. Some free blocks of other threads.
TEST(NothingUnderLocks, HoldsWhateverThreadsDo) {
  constexpr int kThreads = 4;
  std::atomic<void*> handed_on{nullptr};
  for (int generation = 0; generation < 3; ++generation) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i < 4000; ++i) {
          const std::size_t size = (i * 2654435761U >> 8) % (i % 64 == 0 ? 8U << 20 : 3000U);
          void* block = i % 3 == 0 ? alloc::allocate_zeroed(size, 1) : alloc::allocate(size);
          block = handed_on.exchange(block);
          if (i % 64 == 0) block = alloc::reallocate(block, 3 * size + 1);
          blocks.push_back(block);
          if (i % 2 == 0) {
            alloc::deallocate(blocks[blocks.size() / 2]);
            blocks[blocks.size() / 2] = nullptr;
          }
          if (i % 1000 == 999) alloc::trim(0);
        }
        for (std::size_t i = std::size_t(t); i < blocks.size(); ++i) alloc::deallocate(blocks[i]);
        for (std::size_t i = 0; i < std::size_t(t); ++i) alloc::deallocate(blocks[i]);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  alloc::deallocate(handed_on.exchange(nullptr));
  alloc::trim(0);
  EXPECT_STREQ(os::fake::first_breach(), nullptr);
}

}  // namespace
}  // namespace corbel
