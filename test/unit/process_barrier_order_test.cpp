// SPDX-License-Identifier: Apache-2.0
// The process barrier as the system has it.
#include "process_barrier_order.hpp"

#include <gtest/gtest.h>

namespace corbel::os {
namespace {

TEST(ProcessBarrierOrder, OrdersTheStoresOfOtherThreads) {
  if (!enable_process_barrier()) GTEST_SKIP() << "the system has no process barrier";
  EXPECT_TRUE(has_process_barrier());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(barrier_orders_stores());
}

}  // namespace
}  // namespace corbel::os
