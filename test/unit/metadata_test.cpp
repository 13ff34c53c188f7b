// SPDX-License-Identifier: Apache-2.0
// The memory of the allocator's own objects, on the fake operating system.
#include "alloc/map/metadata.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "base/bits.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

TEST(Metadata, ThreadsThatNeedMemoryAtOnceShareAMapping) {
  constexpr std::size_t kSize = 4096;
  constexpr int kThreads = 8;
  static std::atomic<int> in_map;
  ASSERT_NE(allocate_metadata(kSize), nullptr);  // the first mapping is smaller than the next ones
  // Use up the current mapping.
  const std::size_t at_first = metadata_bytes();
  while (metadata_bytes() == at_first) ASSERT_NE(allocate_metadata(kSize), nullptr);
  const std::size_t before = metadata_bytes();
  const std::size_t mapping = before - at_first;
  ASSERT_NE(allocate_metadata(mapping - kSize), nullptr);
  ASSERT_EQ(metadata_bytes(), before);
  const std::size_t mapped = os::fake::figures().mapped_bytes;
  in_map = 0;
  os::fake::at_map([](std::size_t) {
    ++in_map;
    while (in_map < kThreads) std::this_thread::yield();
  });
  std::vector<void*> objects(kThreads);
  {
    std::vector<std::jthread> threads;
    for (void*& object : objects) {
      threads.emplace_back([&object] { object = allocate_metadata(kSize); });
    }
  }
  os::fake::at_map(nullptr);
  EXPECT_EQ(in_map, kThreads) << "the threads did not map at the same time";
  std::sort(objects.begin(), objects.end());
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_NE(objects[i], nullptr);
    if (i > 0) {
      EXPECT_GE(address_of(objects[i]) - address_of(objects[i - 1]), kSize);
    }
  }
  EXPECT_EQ(metadata_bytes() - before, mapping);
  EXPECT_EQ(os::fake::figures().mapped_bytes - mapped, mapping);
  EXPECT_STREQ(os::fake::first_breach(), nullptr);
}

}  // namespace
}  // namespace corbel::alloc
