// SPDX-License-Identifier: Apache-2.0
// Tests that pass, fail, skip themselves, crash, hang and have a fault that a sanitizer finds:
// run_test.py runs them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

TEST(Subject, A_Passes) {}
TEST(Subject, B_Fails) { EXPECT_EQ(1, 2) << "as it should"; }
TEST(Subject, C_Crashes) {
  std::fputs("before the crash\n", stderr);
  std::abort();
}
TEST(Subject, D_IsSkipped) { GTEST_SKIP() << "nothing to do"; }
TEST(Subject, E_Hangs) { pause(); }
TEST(Subject, F_PassesAfterAll) {}

// A race, or a block used after it was freed, while stderr goes elsewhere.
TEST(Fault, IsReported) {
  testing::internal::CaptureStderr();
  int* shared = new int(0);
  std::thread([shared] { ++*shared; }).join();
  std::thread one([shared] { ++*shared; });
  std::thread other([shared] { ++*shared; });
  one.join();
  other.join();
  delete shared;
#ifdef __SANITIZE_ADDRESS__
  *static_cast<volatile int*>(shared) = 1;
#endif
  testing::internal::GetCapturedStderr();
}

}  // namespace
