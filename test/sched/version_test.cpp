// SPDX-License-Identifier: Apache-2.0
// The version that the library reports is that of its headers.
#include <gtest/gtest.h>
#include <tbb/tbb_stddef.h>
#include <tbb/version.h>

#include <string>

TEST(Version, LibraryAndHeadersAgree) {
  EXPECT_EQ(TBB_runtime_interface_version(), TBB_INTERFACE_VERSION);
  EXPECT_STREQ(TBB_runtime_version(), TBB_VERSION_STRING);
}

TEST(Version, OfTheClassicHeader) {
  EXPECT_EQ(tbb::TBB_runtime_interface_version(), TBB_INTERFACE_VERSION);
  const std::string numbers = std::to_string(TBB_VERSION_MAJOR) + '.' +
                              std::to_string(TBB_VERSION_MINOR) + '.' +
                              std::to_string(TBB_VERSION_PATCH);
  EXPECT_EQ(numbers, TBB_VERSION_STRING);
}
