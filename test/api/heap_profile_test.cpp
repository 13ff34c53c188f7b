// SPDX-License-Identifier: Apache-2.0
// The heap profile's functions, sentence by sentence, as <corbel/malloc.h> describes them.
// test/profile looks into the files, and test/unit at the estimates.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool is_gzip(const std::string& content) { return content.compare(0, 3, "\x1f\x8b\x08") == 0; }

TEST(HeapProfileTest, StartTakesUpTo2To40Bytes) {
  EXPECT_EQ(corbel_heap_profile_start((size_t(1) << 40) + 1), EINVAL);
  for (const size_t every : {size_t(0), size_t(1), size_t(1) << 40}) {
    EXPECT_EQ(corbel_heap_profile_start(every), 0);
    scalable_free(scalable_malloc(100));
  }
  EXPECT_EQ(corbel_heap_profile_stop(), 0);
}

TEST(HeapProfileTest, TheFileReplacesAnOlderOne) {
  const std::string path =
      testing::TempDir() + "corbel_heap_profile_test." + std::to_string(getpid());
  std::ofstream(path) << "older";
  EXPECT_EQ(corbel_heap_profile_write(path.c_str()), 0);
  EXPECT_TRUE(is_gzip(content_of(path)));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST(HeapProfileTest, WriteReturnsTheErrorOfTheFile) {
  EXPECT_EQ(corbel_heap_profile_write(nullptr), EINVAL);
  EXPECT_EQ(corbel_heap_profile_write("/nonexistent/file"), ENOENT);
}

TEST(HeapProfileTest, ErrnoIsUnchanged) {
  errno = 77;
  corbel_heap_profile_start(1);
  scalable_free(scalable_malloc(100));
  corbel_heap_profile_write("/nonexistent/file");
  corbel_heap_profile_stop();
  EXPECT_EQ(errno, 77);
}

}  // namespace
