// SPDX-License-Identifier: Apache-2.0
// All other threads have stopped, even if they start others all the time.
#include "proxy/windows/other_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "os/windows/api.hpp"

namespace corbel::proxy {
namespace {

// Each of the threads starts the next one and ends.
struct Relay {
  std::atomic<bool> end{false};
  std::atomic<unsigned> running{0};
  std::atomic<std::uint64_t> passed{0};
};

DWORD WINAPI relay(void* argument) {
  Relay* const state = static_cast<Relay*>(argument);
  state->passed.fetch_add(1);
  const HANDLE next =
      state->end ? nullptr : CreateThread(nullptr, 64 << 10, relay, state, 0, nullptr);
  if (next == nullptr) {
    state->running.fetch_sub(1);
  } else {
    CloseHandle(next);
  }
  return 0;
}

// Time for other threads to run, if they do.
void let_others_run() {
  constexpr DWORD kEnough = 20;  // ms
  const ULONGLONG begin = GetTickCount64();
  while (GetTickCount64() - begin < kEnough) Sleep(0);
}

struct Counting {
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> count{0};
};

DWORD WINAPI count(void* argument) {
  Counting* const state = static_cast<Counting*>(argument);
  while (!state->end) state->count.fetch_add(1);
  return 0;
}

TEST(OtherThreadsTest, TheyHaveStoppedWhenStopReturns) {
  static Counting state;  // outlives the test if it fails
  state.end = false;
  HANDLE threads[4];
  for (HANDLE& thread : threads) {
    thread = CreateThread(nullptr, 64 << 10, count, &state, 0, nullptr);
    ASSERT_NE(thread, nullptr);
  }
  for (int round = 0; round < 100; ++round) {
    OtherThreads others;
    const bool stopped = others.stop();
    const std::uint64_t before = state.count.load();
    if (stopped) Sleep(1);
    const std::uint64_t after = state.count.load();
    others.let_go();
    ASSERT_TRUE(stopped);
    ASSERT_EQ(after, before);
    while (state.count.load() == after) Sleep(0);
  }
  state.end = true;
  for (const HANDLE thread : threads) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
  }
}

TEST(OtherThreadsTest, NoThreadEscapesByStartingAnother) {
  static Relay state;  // outlives the test if it fails
  state.end = false;
  for (int i = 0; i < 4; ++i) {
    state.running.fetch_add(1);
    const HANDLE first = CreateThread(nullptr, 64 << 10, relay, &state, 0, nullptr);
    ASSERT_NE(first, nullptr);
    CloseHandle(first);
  }
  for (int round = 0; round < 25; ++round) {
    OtherThreads others;
    const bool stopped = others.stop();
    const std::uint64_t before = state.passed.load();
    if (stopped) let_others_run();
    const std::uint64_t after = state.passed.load();
    others.let_go();
    ASSERT_TRUE(stopped);
    EXPECT_EQ(after, before);
    while (state.passed.load() == after && state.running.load() != 0) Sleep(0);
  }
  EXPECT_EQ(state.running.load(), 4u);
  state.end = true;
  while (state.running.load() != 0) Sleep(1);
}

}  // namespace
}  // namespace corbel::proxy
