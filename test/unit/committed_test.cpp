// SPDX-License-Identifier: Apache-2.0
// Where the system counts memory when it is committed, no more is committed than is counted in the
// footprint.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/map/footprint.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

// Bytes that are committed and not counted, without tables, which are committed as a whole.
std::ptrdiff_t uncounted() {
  const std::size_t usable = os::fake::usable_bytes() - stats().metadata_mapped;
  return std::ptrdiff_t(usable) - std::ptrdiff_t(footprint.bytes());
}

class CommittedTest : public testing::Test {
 protected:
  void SetUp() override { begin(700000); }
  void TearDown() override {
    os::fake::refuse({});
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }

  // Makes the tables that blocks of up to `size` bytes need.
  void begin(std::size_t size) {
    deallocate(allocate(size));
    deallocate(allocate(100));
    trim(0);
    before_ = uncounted();
  }

  static void refuse_commits() { os::fake::refuse({.commits_in_1000 = 1000}); }
  void expect_counted(const char* when) const { EXPECT_LE(uncounted(), before_) << when; }

  std::ptrdiff_t before_ = 0;
};

TEST_F(CommittedTest, ARefusedSpan) {
  void* const block = allocate(3000000);
  refuse_commits();
  EXPECT_EQ(allocate(1000000), nullptr);
  expect_counted("after the refusal");
  EXPECT_EQ(allocate(200000), nullptr);
  expect_counted("after another");
  deallocate(block);
}

TEST_F(CommittedTest, RefusedPagesOfASlab) {
  std::vector<void*> blocks;
  for (const std::size_t size : {30000, 9000, 700}) {
    os::fake::refuse({});
    blocks.push_back(allocate(size));
    const std::ptrdiff_t before = uncounted();
    refuse_commits();
    int count = 0;
    while (void* const block = allocate(size)) {
      blocks.push_back(block);
      ASSERT_LT(++count, 10000);
    }
    EXPECT_LE(uncounted(), before) << size;
  }
  os::fake::refuse({});
  for (void* const block : blocks) deallocate(block);
}

// A bin that has grown commits several pages at once.
TEST_F(CommittedTest, ASlabGrowsByPagesWhereNoMoreIsToBeHad) {
  constexpr std::size_t kSize = 100;
  std::vector<void*> blocks;
  const auto add = [&](std::size_t bytes) {
    for (std::size_t i = 0; i < bytes / kSize; ++i) blocks.push_back(allocate(kSize));
    return blocks.back() != nullptr;
  };
  ASSERT_TRUE(add(1000000));
  const std::ptrdiff_t before = uncounted();
  os::fake::refuse({.largest_commit = os::page_size()});
  EXPECT_TRUE(add(200000));
  EXPECT_LE(uncounted(), before);
  os::fake::refuse({});
  for (void* const block : blocks) deallocate(block);
}

TEST_F(CommittedTest, PagesOfASlabThatWereGivenBack) {
  constexpr std::size_t kSize = 30000;
  std::vector<void*> blocks(40);
  for (void*& block : blocks) block = std::memset(allocate(kSize), 1, kSize);
  for (std::size_t i = 0; i < blocks.size(); i += 2) deallocate(blocks[i]);
  trim(0);
  const std::ptrdiff_t before = uncounted();
  refuse_commits();
  std::vector<void*> more;
  while (void* const block = allocate(kSize)) more.push_back(block);
  EXPECT_LE(uncounted(), before);
  os::fake::refuse({});
  for (std::size_t i = 1; i < blocks.size(); i += 2) deallocate(blocks[i]);
  for (void* const block : more) deallocate(block);
}

TEST_F(CommittedTest, ALargeChunk) {
  begin(std::size_t{100} << 20);
  // The rest of the chunk, which has whole huge pages, is not in use.
  void* const block = allocate((std::size_t{65} << 20) + 100000);
  ASSERT_NE(block, nullptr);
  expect_counted("with the block");
  deallocate(block);
}

TEST_F(CommittedTest, TheTailOfABlock) {
  int refused = 0;
  for (std::size_t size = 140000; size < 500000; size += 20000) {
    void* block = allocate(size);
    expect_counted("with a block");
    refuse_commits();
    // Grows only where pages are committed already.
    void* const grown = reallocate(block, size + 50000);
    if (grown != nullptr) {
      block = grown;
    } else {
      ++refused;
    }
    expect_counted("after a refusal");
    os::fake::refuse(
        {.moves_in_1000 = 1000});  // after a move, the fake leaves the source committed
    block = reallocate(block, size + 60000);
    std::memset(block, 1, usable_size(block));
    expect_counted("after the block has grown");
    deallocate(block);
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace corbel::alloc
