// SPDX-License-Identifier: Apache-2.0
// Compiled with CORBEL_USE_DEBUG, a program is warned when it waits for tasks under a lock.
#define CORBEL_USE_DEBUG 1

#include <corbel/parallel_invoke.hpp>
#include <corbel/spin_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "helped.hpp"

namespace {

// Each body runs until the other has begun, so one of them is stolen and waited for.
void meet() {
  std::atomic<int> come{0};
  const auto body = [&] {
    ++come;
    while (come < 2) std::this_thread::yield();
  };
  corbel::parallel_invoke(body, body);
}

template <typename F>
std::string errors_of(const F& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

// One test, because the warning comes once in a process.
TEST(WaitingUnderLockTest, IsReportedOnce) {
  if (!test::has_worker()) GTEST_SKIP() << "one processor";
  corbel::spin_mutex mutex;
  EXPECT_EQ(errors_of([] { meet(); }), "");
  const auto under_lock = [&] {
    const corbel::spin_mutex::scoped_lock lock(mutex);
    for (int i = 0; i < 1000; ++i) meet();  // until the other body is still running at a join
  };
  const std::string warning = errors_of(under_lock);
  EXPECT_EQ(warning.find("corbel: a thread waits for tasks while it holds a lock"), 0U) << warning;
  EXPECT_EQ(warning.find('\n'), warning.size() - 1);
  EXPECT_EQ(errors_of(under_lock), "");
}

}  // namespace
