// SPDX-License-Identifier: Apache-2.0
// Suspended tasks in threads that the program has made fibers.
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // libstdc++ has done so
#define NOMINMAX
#endif
#include <windows.h>
// After it.
#include <tbb/task.h>
#include <tbb/task_group.h>

#include <gtest/gtest.h>

#include <thread>

namespace {

// Suspends a task and resumes it from another thread; returns whether it came back to its thread.
bool suspend_once() {
  bool same = false;
  tbb::task_group group;
  group.run_and_wait([&] {
    const auto before = std::this_thread::get_id();
    std::thread other;
    tbb::task::suspend([&](tbb::task::suspend_point point) {
      other = std::thread([point] { tbb::task::resume(point); });
    });
    other.join();
    same = before == std::this_thread::get_id();
  });
  return same;
}

TEST(Fibers, AThreadIsMadeOneAndRestored) {
  std::thread([] {
    EXPECT_FALSE(IsThreadAFiber());
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(suspend_once());
  }).join();
}

TEST(Fibers, AThreadThatIsOneStaysThat) {
  std::thread([] {
    void* const own = ConvertThreadToFiber(nullptr);
    ASSERT_NE(own, nullptr);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(suspend_once());
    EXPECT_TRUE(IsThreadAFiber());
    EXPECT_EQ(GetCurrentFiber(), own);
    EXPECT_TRUE(ConvertFiberToThread());
  }).join();
}

struct Switch {
  void* main = nullptr;
  bool right = false;
};

TEST(Fibers, TheProgramSwitchesBetweenItsOwn) {
  std::thread([] {
    Switch s;
    s.main = ConvertThreadToFiber(nullptr);
    void* const other = CreateFiber(
        0,
        [](void* self) {
          Switch& own = *static_cast<Switch*>(self);
          for (;;) {
            own.right = suspend_once();
            SwitchToFiber(own.main);
          }
        },
        &s);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(suspend_once());
      s.right = false;
      SwitchToFiber(other);
      EXPECT_TRUE(s.right);
    }
    DeleteFiber(other);
    ConvertFiberToThread();
  }).join();
}

TEST(Fibers, LastErrorIsThatOfTheStack) {
  tbb::task_group group;
  group.run_and_wait([&] {
    std::thread other;
    SetLastError(1234);
    tbb::task::suspend([&](tbb::task::suspend_point point) {
      other = std::thread([point] { tbb::task::resume(point); });
      SetLastError(1234);
    });
    const DWORD error = GetLastError();
    other.join();
    EXPECT_EQ(error, 1234U);
  });
}

}  // namespace
