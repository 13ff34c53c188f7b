// SPDX-License-Identifier: Apache-2.0
// The canary of redzones.
#include "alloc/check/pattern.hpp"

#include <gtest/gtest.h>

namespace corbel::alloc {
namespace {

TEST(PatternTest, WhatProgramsWriteMostChangesTheCanary) {
  for (int i = 0; i < 1000; ++i) {
    choose_canary();
    char redzone[48];
    fill_canary(redzone, redzone + sizeof redzone);
    for (char& place : redzone) {
      const char canary = place;
      for (const int written : {0, 1, 7, 32, 65, 122, 127, -1}) {
        place = char(written);
        ASSERT_EQ(find_changed_canary(redzone, redzone + sizeof redzone), &place) << written;
      }
      place = canary;
    }
    ASSERT_EQ(find_changed_canary(redzone, redzone + sizeof redzone), redzone + sizeof redzone);
  }
}

TEST(PatternTest, EachProcessHasAnotherCanary) {
  char first[8], second[8];
  choose_canary();
  fill_canary(first, first + sizeof first);
  choose_canary();
  EXPECT_NE(find_changed_canary(first, first + sizeof first), first + sizeof first);
  fill_canary(second, second + sizeof second);
  EXPECT_EQ(find_changed_canary(second, second + sizeof second), second + sizeof second);
}

}  // namespace
}  // namespace corbel::alloc
