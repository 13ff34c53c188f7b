// SPDX-License-Identifier: Apache-2.0
// The heap profile's functions with what Linux has alone: descriptors that are the system's, and
// devices that are full.
#include <corbel/malloc.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace {

TEST(HeapProfileTest, WriteReturnsTheErrorOfTheDevice) {
  EXPECT_EQ(corbel_heap_profile_write("/dev/full"), ENOSPC);
  EXPECT_EQ(corbel_heap_profile_write(testing::TempDir().c_str()), EISDIR);
  EXPECT_EQ(corbel_heap_profile_write_fd(-1), EBADF);
  const int file = open("/dev/full", O_WRONLY);
  EXPECT_EQ(corbel_heap_profile_write_fd(file), ENOSPC);
  close(file);
}

TEST(HeapProfileTest, AnOpenFileStaysOpen) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(corbel_heap_profile_write_fd(fileno(file)), 0);
  const off_t size = lseek(fileno(file), 0, SEEK_CUR);
  EXPECT_GT(size, 100);
  // The next profile follows the first one.
  EXPECT_EQ(corbel_heap_profile_write_fd(fileno(file)), 0);
  EXPECT_GT(lseek(fileno(file), 0, SEEK_CUR), size);
  std::fclose(file);
}

}  // namespace
