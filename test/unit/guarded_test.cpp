// SPDX-License-Identifier: Apache-2.0
// Guarded blocks where the system takes no memory back, or has none left.
#include <gtest/gtest.h>

#include "alloc/allocator.hpp"
#include "alloc/check/ledger.hpp"
#include "alloc/check/options.hpp"
#include "alloc/check/raw_block.hpp"
#include "alloc/guard/guard_pool.hpp"
#include "alloc/map/footprint.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

class GuardedTest : public testing::Test {
 protected:
  void SetUp() override { deallocate(allocate(100)); }
  void TearDown() override {
    os::fake::refuse({});
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
  }
};

// As in a process that has locked its memory.
TEST_F(GuardedTest, APageThatIsNotTakenBackIsCountedOnce) {
  static GuardPool pool;
  ASSERT_TRUE(pool.set_up(2));
  const std::size_t before = footprint.bytes();
  std::size_t most = 0;
  for (const std::uint64_t refused : {1000, 0}) {
    os::fake::refuse({.decommits_in_1000 = refused});
    for (int i = 0; i < 1000; ++i) {
      const BlockRef block = pool.take({.size = 100, .alignment = 16});
      ASSERT_TRUE(block);
      pool.give_back(block);
      if (i == 499) most = footprint.bytes();
    }
    EXPECT_EQ(footprint.bytes(), most);  // all slots have been used several times
  }
  EXPECT_EQ(footprint.bytes(), before);
}

#if CORBEL_OS_COMMITS

TEST_F(GuardedTest, ABlockThatCannotBeCommittedStaysInQuarantine) {
  ASSERT_TRUE(ledger.set_up());
  check_options.redzone = 16;
  check_options.guard_all = true;
  bool zeroed;
  const BlockRef block = get_raw_block(1000, 16, &zeroed);
  ASSERT_TRUE(block && block.record->is_guarded);
  block.set_state(BlockState::kQuarantined);
  ASSERT_EQ(block.take(), BlockState::kQuarantined);
  ASSERT_TRUE(protect(block));
  os::fake::refuse({.commits_in_1000 = 1000});
  give_raw_block(block);
  // Else a thread that frees it once more waits for this one.
  EXPECT_EQ(block.state(), BlockState::kQuarantined);
}

#endif

}  // namespace
}  // namespace corbel::alloc
