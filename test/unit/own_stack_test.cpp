// SPDX-License-Identifier: Apache-2.0
// The stack of a thread, as far as it may grow.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace corbel::os
