// SPDX-License-Identifier: Apache-2.0
// Reading sections (corbel/detail/epoch.hpp) in forks, and in threads that the system cannot tell
// of their end.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "epoch_reader.hpp"

namespace {

using test::epoch_number;
using test::epoch_reader;
using test::has_passed;
using test::Reader;
using test::reading_section;
using test::retire_epoch;

// The first of the tests: the process must not yet have made the key of the hook.
TEST(Epoch, ThreadsThatCannotBeHookedCount) {
  const pid_t child = fork();  // other tests need keys
  if (child == 0) {
    std::thread([] {}).join();  // for which libc++ makes a key of its own
    pthread_key_t key;
    while (pthread_key_create(&key, nullptr) == 0) {
    }
    bool held = false, passed = false;
    std::thread([&] {
      Reader reader;
      reading_section section;
      if (corbel::detail::own_epoch_reader().mode != epoch_reader::kUnlisted) return;
      const epoch_number epoch = retire_epoch();
      held = !has_passed(epoch);
      section.~reading_section();
      held = held && !has_passed(epoch);
      reader.end();
      passed = has_passed(epoch);
      new (&section) reading_section;
    }).join();
    _exit(held && passed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A destructor of the C library's that runs after the library's own hook, which the system
// need not call again.
TEST(Epoch, ASectionMayFollowTheEndOfTheThread) {
  std::thread([] { reading_section section; }).join();  // makes the key of the hook first
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void*) {
                                 reading_section section;
                                 EXPECT_FALSE(has_passed(retire_epoch()));
                                 const auto mode = corbel::detail::own_epoch_reader().mode;
                                 EXPECT_EQ(mode, epoch_reader::kUnlisted);
                               }),
            0);
  std::thread([&] {
    {
      reading_section section;
    }
    pthread_setspecific(key, &key);
  }).join();
  EXPECT_TRUE(has_passed(retire_epoch()));
  pthread_key_delete(key);
}

TEST(Epoch, TheChildOfAForkHasOneReader) {
  Reader reader;
  reading_section section;
  const pid_t child = fork();
  if (child == 0) {
    const epoch_number epoch = retire_epoch();
    bool held = false, passed = false;
    held = !has_passed(epoch);  // by the section of this thread
    section.~reading_section();
    passed = has_passed(epoch);
    _exit(held && passed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
