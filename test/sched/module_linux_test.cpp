// SPDX-License-Identifier: Apache-2.0
// Which file an address comes from, in a program that the system places anywhere and, with
// IS_AT_FIXED_ADDRESS, in one that is linked for one address.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <climits>
#include <cstdint>
#include <string>

#include "os/os.hpp"

extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));

namespace {

std::string whole_path(const char* path) {
  char whole[PATH_MAX];
  return realpath(path, whole) != nullptr ? whole : "";
}

void here() {}

TEST(FindModule, FindsTheProgram) {
  char path[PATH_MAX] = "";
  std::uintptr_t base = 1;
  ASSERT_TRUE(
      corbel::os::find_module(reinterpret_cast<const void*>(&here), path, sizeof path, &base));
  EXPECT_EQ(path, whole_path("/proc/self/exe"));
#if defined(IS_AT_FIXED_ADDRESS)
  EXPECT_EQ(base, 0U);
#else
  EXPECT_EQ(base, reinterpret_cast<std::uintptr_t>(__ehdr_start));
#endif
}

TEST(FindModule, FindsALibrary) {
  void* const function = dlsym(RTLD_DEFAULT, "snprintf");
  Dl_info info;
  ASSERT_NE(dladdr(function, &info), 0);
  char path[PATH_MAX] = "";
  std::uintptr_t base = 0;
  ASSERT_TRUE(corbel::os::find_module(function, path, sizeof path, &base));
  EXPECT_EQ(whole_path(path), whole_path(info.dli_fname));
  EXPECT_EQ(base, reinterpret_cast<std::uintptr_t>(info.dli_fbase));

  ASSERT_TRUE(corbel::os::find_module(function, path, 5, &base));
  EXPECT_EQ(path, std::string(info.dli_fname).substr(0, 4));
}

TEST(FindModule, FindsNothingForDataOfNoFile) {
  char path[PATH_MAX] = "";
  std::uintptr_t base = 0;
  EXPECT_FALSE(corbel::os::find_module(path, path, sizeof path, &base));
}

}  // namespace
