// SPDX-License-Identifier: Apache-2.0
// What the child of a fork makes of records that threads of its parent had taken.
#include "alloc/check/ledger.hpp"

#include <gtest/gtest.h>

#include "alloc/map/instrument_hooks.hpp"

namespace corbel::alloc {
namespace {

class TakenRecordTest : public testing::TestWithParam<BlockState> {
 protected:
  TakenRecordTest() { block_.set_state(GetParam()); }

  // What a fork does in the child.
  static void begin_child() { forget_record_takers(); }

  BlockRecord record_{};
  char raw_[64] = {};
  BlockRef block_{&record_, raw_, sizeof raw_};
};

TEST_P(TakenRecordTest, HasItsStateBeforeInTheChildAfterTake) {
  EXPECT_EQ(block_.take(), GetParam());
  begin_child();
  EXPECT_EQ(block_.take(), GetParam());
}

TEST_P(TakenRecordTest, HasItsStateBeforeInTheChildAfterTryTake) {
  EXPECT_TRUE(block_.try_take(GetParam()));
  begin_child();
  EXPECT_EQ(block_.take(), GetParam());
}

TEST_P(TakenRecordTest, HasItsStateBeforeInAChildOfTheChild) {
  EXPECT_TRUE(block_.try_take(GetParam()));
  begin_child();
  EXPECT_EQ(block_.take(), GetParam());
  begin_child();
  begin_child();
  EXPECT_EQ(block_.take(), GetParam());
}

TEST_P(TakenRecordTest, IsChangingUntilItsStateIsSet) {
  EXPECT_TRUE(block_.try_take(GetParam()));
  EXPECT_EQ(block_.state(), BlockState::kChanging);
  EXPECT_FALSE(block_.try_take(GetParam()));
  block_.set_state(BlockState::kReleased);
  EXPECT_EQ(block_.state(), BlockState::kReleased);
}

INSTANTIATE_TEST_SUITE_P(States, TakenRecordTest,
                         testing::Values(BlockState::kNone, BlockState::kLive,
                                         BlockState::kQuarantined, BlockState::kReleased));

}  // namespace
}  // namespace corbel::alloc
