// SPDX-License-Identifier: Apache-2.0
#include "alloc/stacks/stack_table.hpp"

#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace corbel::alloc {
namespace {

using Frames = std::vector<void*>;

Frames random_frames(std::mt19937& random, unsigned count) {
  Frames frames;
  for (unsigned i = 0; i < count; ++i)
    frames.push_back(reinterpret_cast<void*>(std::uintptr_t{random()} | std::uintptr_t{1} << 40));
  return frames;
}

StackId intern(const Frames& frames) {
  return intern_stack(frames.data(), unsigned(frames.size()));
}

Frames frames_of(StackId id) {
  const Stack stack = stack_of(id);
  return {stack.frames, stack.frames + stack.count};
}

TEST(StackTableTest, HasEachStackOnce) {
  std::mt19937 random(1);
  std::vector<Frames> stacks;
  std::vector<StackId> ids;
  for (unsigned i = 0; i < 20000; ++i) {
    stacks.push_back(random_frames(random, unsigned(random() % (kMaxFrames + 1))));
    if (stacks.back().empty() && i != 0) stacks.back() = random_frames(random, 1);
    ids.push_back(intern(stacks.back()));
    ASSERT_NE(ids.back(), 0U);
  }
  for (unsigned i = 0; i < stacks.size(); ++i) {
    ASSERT_EQ(intern(stacks[i]), ids[i]);
    ASSERT_EQ(frames_of(ids[i]), stacks[i]);
  }
}

TEST(StackTableTest, TellsStacksApartThatDifferInOneFrame) {
  std::mt19937 random(2);
  const Frames frames = random_frames(random, 20);
  const StackId id = intern(frames);
  for (unsigned i = 0; i < frames.size(); ++i) {
    Frames other = frames;
    other[i] = static_cast<char*>(other[i]) + 1;
    EXPECT_NE(intern(other), id);
  }
  EXPECT_NE(intern_stack(frames.data(), 19), id);
  EXPECT_EQ(intern(frames), id);
}

TEST(StackTableTest, KeepsTheInnermostFramesOfADeepStack) {
  std::mt19937 random(3);
  const Frames frames = random_frames(random, kMaxFrames + 10);
  const StackId id = intern(frames);
  EXPECT_EQ(frames_of(id), Frames(frames.begin(), frames.begin() + kMaxFrames));
}

TEST(StackTableTest, AnUnknownStackIsEmpty) { EXPECT_EQ(stack_of(0).count, 0U); }

__attribute__((noinline)) StackId like_malloc() {
  const StackId id = capture_stack(__builtin_return_address(0));
  asm volatile("" : : : "memory");
  return id;
}

__attribute__((noinline)) StackId like_new() {
  const StackId id = capture_stack();
  asm volatile("" : : : "memory");
  return id;
}

__attribute__((noinline)) StackId calls(StackId (*function)()) {
  const StackId id = function();
  asm volatile("" : : : "memory");
  return id;
}

bool is_in(void* frame, StackId (*function)(StackId (*)())) {
  return _Unwind_FindEnclosingFunction(static_cast<char*>(frame) - 1) ==
         reinterpret_cast<void*>(function);
}

TEST(StackTableTest, ACapturedStackBeginsWithTheCallOfTheProgram) {
  const Frames frames = frames_of(calls(like_malloc));
  ASSERT_GE(frames.size(), 2U);
  EXPECT_TRUE(is_in(frames[0], calls));
}

TEST(StackTableTest, HiddenCodeIsNotInACapturedStack) {
  const Frames all = frames_of(calls(like_new));
  ASSERT_GE(all.size(), 3U);
  unsigned first = 0;
  while (first < all.size() && !is_in(all[first], calls)) ++first;
  ASSERT_GT(first, 0U);
  ASSERT_LE(first, 3U);
  for (unsigned i = 0; i < first; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(all[i]);
    hide_code({address, address + 1});  // just after it
    EXPECT_EQ(frames_of(calls(like_new)).size(), all.size() - i);
    hide_code({address - 1, address});
    EXPECT_EQ(frames_of(calls(like_new)).size(), all.size() - i - 1);
  }
  const Frames visible = frames_of(calls(like_new));
  ASSERT_EQ(visible.size(), all.size() - first);
  EXPECT_TRUE(is_in(visible[0], calls));
}

// Threads add the same stacks at the same time; all get the same ids.
TEST(StackTableTest, ThreadsAgree) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kStacks = 20000;
  std::vector<std::vector<StackId>> ids(kThreads);
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(4);
      ++ready;
      while (ready != kThreads) std::this_thread::yield();
      for (unsigned i = 0; i < kStacks; ++i) ids[t].push_back(intern(random_frames(random, 3)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned t = 1; t < kThreads; ++t) EXPECT_EQ(ids[t], ids[0]);
}

}  // namespace
}  // namespace corbel::alloc
