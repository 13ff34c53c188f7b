// SPDX-License-Identifier: Apache-2.0
// The stack of a thread, as far as it may grow.
#include <gtest/gtest.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "os/os.hpp"

namespace corbel::os {
namespace {

// Uses that much of the stack, and returns the lowest address.
__attribute__((noinline)) std::uintptr_t use(std::size_t bytes) {
  auto* const room = static_cast<volatile char*>(__builtin_alloca(bytes));
  room[0] = 1;
  return reinterpret_cast<std::uintptr_t>(room);
}

void expect_to_hold(const StackRange& stack, std::uintptr_t address) {
  EXPECT_GE(address, stack.low);
  EXPECT_LT(address, stack.high);
}

// Asked before the system has mapped most of it.
TEST(OwnStackTest, HoldsWhatTheMainThreadGrowsInto) {
  const StackRange stack = own_stack();
  expect_to_hold(stack, use(64));
  expect_to_hold(stack, use(700000));
}

TEST(OwnStackTest, HoldsWhatAnotherThreadGrowsInto) {
  std::thread([] {
    const StackRange stack = own_stack();
    expect_to_hold(stack, use(64));
    expect_to_hold(stack, use(60000));
  }).join();
}

#if !defined(_WIN32)

// Calls `run` in a thread of start_detached().
void run_in_thread(std::size_t stack_size, void (*run)()) {
  static void (*to_run)();
  static std::atomic<std::uint32_t> calls_done{0};  // static: the thread wakes after the test
  const std::uint32_t before = calls_done;
  to_run = run;
  const auto body = [](void*) -> void* {
    to_run();
    ++calls_done;
    wake_all(calls_done);
    return nullptr;
  };
  ASSERT_TRUE(start_detached(stack_size, body, nullptr));
  while (calls_done == before) wait(calls_done, before);
}

// The child has the thread that forked, and no other.
TEST(OwnStackTest, StaysThatOfAThreadThatForks) {
  run_in_thread(256 << 10, [] {
    const StackRange stack = own_stack();
    const pid_t child = fork();
    if (child == 0) {
      const StackRange there = own_stack();
      _exit(there.low == stack.low && there.high == stack.high ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  });
}

// glibc looks at the limit once, before the program begins.
#if !defined(__GLIBC__)
TEST(OwnStackTest, IsAsLargeAsTheLimitByDefault) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 12 << 20;
  if (limit.rlim_max < limit.rlim_cur) GTEST_SKIP() << "the hard limit is lower";
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &limit), 0);
  EXPECT_EQ(default_stack_size(), 12U << 20);
  run_in_thread(0, [] {
    const StackRange stack = own_stack();
    EXPECT_GE(stack.high - stack.low, 12U << 20);
  });
  setrlimit(RLIMIT_STACK, &before);
}
#endif
#endif

}  // namespace
}  // namespace corbel::os
