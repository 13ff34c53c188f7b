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

TEST(Metadata, TheRangesHaveAllOfIt) {
  struct Ranges {
    std::size_t bytes = 0;
    std::uintptr_t object;
    bool has_object = false;
  };
  // More pieces than a table of ranges has room for, if the system puts none beside another.
  for (int i = 0; i < 300; ++i) {
    void* const object = allocate_metadata(std::size_t(200) << 10);
    ASSERT_NE(object, nullptr);
    Ranges ranges{.object = address_of(object)};
    std::size_t count = 0;
    {
      sync::LockGuard guard(metadata_lock);
      for_each_metadata_range(
          [](void* to, std::uintptr_t start, std::uintptr_t end) {
            Ranges* into = static_cast<Ranges*>(to);
            into->bytes += end - start;
            if (start <= into->object && into->object < end) into->has_object = true;
          },
          &ranges);
      count = metadata_ranges();
    }
    ASSERT_EQ(ranges.bytes, metadata_bytes());
    ASSERT_TRUE(ranges.has_object);
    ASSERT_GT(count, 0u);
  }
}

}  // namespace
}  // namespace corbel::alloc
