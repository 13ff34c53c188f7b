// SPDX-License-Identifier: Apache-2.0
// corbel_set_heap_limit, corbel_set_heap_hard_limit and corbel_on_limit, with every function that
// allocates.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <corbel/scalable_allocator.hpp>

#include <cerrno>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

struct HeapLimit : testing::Test {
  void TearDown() override {
    corbel_on_limit(nullptr, nullptr);
    corbel_set_heap_hard_limit(0);
    corbel_set_heap_limit(0);
    void* block = scalable_malloc(20 * kMib);
    EXPECT_NE(block, nullptr);
    scalable_free(block);
  }
};

#define EXPECT_REFUSED(call)  \
  do {                        \
    errno = 0;                \
    EXPECT_EQ(call, nullptr); \
    EXPECT_EQ(errno, ENOMEM); \
  } while (false)

TEST_F(HeapLimit, EveryFunctionRefuses) {
  void* block = std::memset(scalable_malloc(3 * kMib), 7, 3 * kMib);
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  EXPECT_REFUSED(scalable_malloc(10 * kMib));
  EXPECT_REFUSED(scalable_calloc(10, kMib));
  EXPECT_REFUSED(scalable_realloc(block, 10 * kMib));
  EXPECT_REFUSED(scalable_aligned_malloc(10 * kMib, 4096));
  EXPECT_REFUSED(scalable_aligned_realloc(block, 10 * kMib, 4096));
  void* unchanged = &block;
  EXPECT_EQ(scalable_posix_memalign(&unchanged, 64, 10 * kMib), ENOMEM);
  EXPECT_EQ(unchanged, &block);
  corbel::scalable_allocator<char> allocator;
  EXPECT_THROW(allocator.deallocate(allocator.allocate(10 * kMib), 10 * kMib), std::bad_alloc);
  const auto* bytes = static_cast<unsigned char*>(block);
  for (std::size_t i = 0; i < 3 * kMib; ++i) ASSERT_EQ(bytes[i], 7);
  scalable_free(block);
}

TEST_F(HeapLimit, ZeroRemovesALimit) {
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  EXPECT_REFUSED(scalable_malloc(10 * kMib));
  ASSERT_EQ(corbel_set_heap_hard_limit(0), 0);
  void* block = scalable_malloc(10 * kMib);
  EXPECT_NE(block, nullptr);
  scalable_free(block);
}

TEST_F(HeapLimit, TheSoftLimitRefusesNothing) {
  ASSERT_EQ(corbel_set_heap_limit(1), 0);
  void* block = scalable_malloc(10 * kMib);
  EXPECT_NE(block, nullptr);
  scalable_free(block);
  EXPECT_EQ(corbel_set_heap_limit(CORBEL_HEAP_LIMIT_AUTO), 0);
  EXPECT_EQ(corbel_set_heap_hard_limit(CORBEL_HEAP_LIMIT_AUTO), 0);
}

int raise_limit(void* context, std::size_t size) {
  EXPECT_GE(size, 10 * kMib);
  ++*static_cast<int*>(context);
  corbel_set_heap_hard_limit(0);
  return 1;
}

TEST_F(HeapLimit, TheCallbackMayLiftTheLimit) {
  int calls = 0;
  ASSERT_EQ(corbel_on_limit(raise_limit, &calls), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  void* block = scalable_malloc(10 * kMib);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(calls, 1);
  scalable_free(block);
}

}  // namespace
