// SPDX-License-Identifier: Apache-2.0
// Reading sections (corbel/detail/epoch.hpp) with real threads: their ends, and nesting. The
// protocol itself is in test/model.
#include <corbel/detail/epoch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "epoch_reader.hpp"

namespace {

using test::epoch_number;
using test::has_passed;
using test::Reader;
using test::reading_section;
using test::retire_epoch;

TEST(Epoch, PassesWithoutReaders) { EXPECT_TRUE(has_passed(retire_epoch())); }

TEST(Epoch, WaitsForTheSectionThatBeganBefore) {
  Reader reader;
  const epoch_number epoch = retire_epoch();
  EXPECT_FALSE(has_passed(epoch));
  EXPECT_FALSE(has_passed(epoch));
  reader.end();
  EXPECT_TRUE(has_passed(epoch));
}

TEST(Epoch, DoesNotWaitForTheSectionThatBeganLater) {
  const epoch_number epoch = retire_epoch();
  Reader reader;
  EXPECT_TRUE(has_passed(epoch));
  EXPECT_FALSE(has_passed(retire_epoch()));
}

TEST(Epoch, OwnSectionsNest) {
  epoch_number epoch = 0;
  {
    reading_section outer;
    {
      reading_section inner;
    }
    std::thread([&] { epoch = retire_epoch(); }).join();
    std::thread([&] { EXPECT_FALSE(has_passed(epoch)); }).join();
  }
  EXPECT_TRUE(has_passed(epoch));
}

TEST(Epoch, AThreadMayEndInASection) {
  std::thread([] {
    alignas(reading_section) static char room[sizeof(reading_section)];
    new (room) reading_section;  // never destroyed
  }).join();
  EXPECT_TRUE(has_passed(retire_epoch()));
}

// Frees what one of several threads may read a moment later, until each has read a while.
TEST(Epoch, NothingIsFreedThatIsRead) {
  struct Object {
    int value = 1;
    ~Object() { value = 0; }
  };
  std::atomic<Object*> container{new Object};
  std::atomic<int> readers{2};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        reading_section section;
        EXPECT_EQ(container.load()->value, 1);
      }
      --readers;
    });
  }
  while (readers != 0) {
    Object* const old = container.exchange(new Object);
    const epoch_number epoch = retire_epoch();
    while (!has_passed(epoch)) std::this_thread::yield();
    delete old;
  }
  for (std::thread& t : threads) t.join();
  delete container.load();
}

}  // namespace
