// SPDX-License-Identifier: Apache-2.0
// The same with the whole interface of oneTBB. It has tbb::task; a program that has such a name of
// its own qualifies it, with oneTBB too.
#include <gtest/gtest.h>
#include <oneapi/tbb.h>
// Where the program says that it is not written for TBB 2020, this has nothing more.
#define TBB_CLASSIC_NAMES 0
#include <tbb/tbb.h>

#include "own_names.hpp"

struct structured_task_group {};

TEST(OwnNames, WithTheWholeInterfaceOfOneTbb) {
  use_own_names();
  make_each<structured_task_group>();
}
