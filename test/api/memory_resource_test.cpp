// SPDX-License-Identifier: Apache-2.0
// scalable_memory_resource() and cache_aligned_resource.
#include <gtest/gtest.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/scalable_allocator.h>

#include <cstdint>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace {

bool aligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

// Records the requests.
class Recorder : public std::pmr::memory_resource {
 public:
  std::size_t bytes = 0, alignment = 0;
  std::size_t freed_bytes = 0, freed_alignment = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t align) override {
    bytes = size;
    alignment = align;
    return std::pmr::new_delete_resource()->allocate(size, align);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t align) override {
    freed_bytes = size;
    freed_alignment = align;
    std::pmr::new_delete_resource()->deallocate(p, size, align);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(ScalableMemoryResource, IsOneObject) {
  std::pmr::memory_resource* resource = tbb::scalable_memory_resource();
  ASSERT_NE(resource, nullptr);
  EXPECT_EQ(resource, corbel::scalable_memory_resource());
  EXPECT_TRUE(resource->is_equal(*corbel::scalable_memory_resource()));
  EXPECT_FALSE(resource->is_equal(*std::pmr::new_delete_resource()));
}

TEST(ScalableMemoryResource, ServesEveryAlignmentFromTheScalableAllocator) {
  std::pmr::memory_resource* resource = corbel::scalable_memory_resource();
  for (std::size_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
    for (std::size_t size : {0, 1, 100, 100000}) {
      void* p = resource->allocate(size, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(aligned(p, alignment));
      EXPECT_GE(scalable_msize(p), size == 0 ? 1 : size);
      resource->deallocate(p, size, alignment);
    }
  }
}

TEST(ScalableMemoryResource, ThrowsBadAllocAfterTheNewHandler) {
  static int calls;
  calls = 0;
  std::set_new_handler([] {
    if (++calls == 2) std::set_new_handler(nullptr);
  });
  const std::size_t impossible = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
  EXPECT_THROW((void)corbel::scalable_memory_resource()->allocate(impossible), std::bad_alloc);
  EXPECT_EQ(calls, 2);
}

TEST(ScalableMemoryResource, ServesContainers) {
  std::pmr::map<int, std::pmr::string> map(corbel::scalable_memory_resource());
  for (int i = 0; i < 1000; ++i) map[i] = std::string(static_cast<std::size_t>(i), 'y');
  EXPECT_EQ(map[500].size(), 500U);
  EXPECT_EQ(map[500].get_allocator().resource(), corbel::scalable_memory_resource());
}

TEST(CacheAlignedResource, RaisesTheAlignmentToACacheLine) {
  Recorder recorder;
  tbb::cache_aligned_resource resource(&recorder);
  EXPECT_EQ(resource.upstream_resource(), &recorder);
  for (std::size_t asked = 1; asked <= 4096; asked *= 2) {
    const std::size_t expected = asked > 64 ? asked : 64;
    void* p = resource.allocate(10, asked);
    EXPECT_EQ(recorder.alignment, expected);
    EXPECT_EQ(recorder.bytes, 10U);
    EXPECT_TRUE(aligned(p, expected));
    resource.deallocate(p, 10, asked);
    EXPECT_EQ(recorder.freed_alignment, expected);
    EXPECT_EQ(recorder.freed_bytes, 10U);
  }
}

TEST(CacheAlignedResource, TakesTheDefaultResource) {
  tbb::cache_aligned_resource resource;
  EXPECT_EQ(resource.upstream_resource(), std::pmr::get_default_resource());
}

TEST(CacheAlignedResource, IsEqualByItsUpstream) {
  Recorder recorder;
  tbb::cache_aligned_resource a(&recorder), b(&recorder), c(corbel::scalable_memory_resource());
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_TRUE(a.is_equal(b));
  EXPECT_FALSE(a.is_equal(c));
  EXPECT_FALSE(a.is_equal(recorder));
}

TEST(CacheAlignedResource, ServesContainers) {
  tbb::cache_aligned_resource resource(corbel::scalable_memory_resource());
  std::pmr::vector<int> vector(&resource);
  for (int i = 0; i < 10000; ++i) {
    vector.push_back(i);
    ASSERT_TRUE(aligned(vector.data(), 64));
  }
  EXPECT_EQ(vector[9999], 9999);
}

}  // namespace
