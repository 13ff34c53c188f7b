// SPDX-License-Identifier: Apache-2.0
// Reading sections (corbel/detail/epoch.hpp) with real threads: their ends, nesting, forks, and
// threads that the system cannot tell of their end. The protocol itself is in test/model.
#include <corbel/detail/epoch.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

namespace {

using corbel::detail::epoch_number;
using corbel::detail::epoch_reader;
using corbel::detail::has_passed;
using corbel::detail::reading_section;
using corbel::detail::retire_epoch;

// A thread that is in a section from its construction until end().
class Reader {
 public:
  Reader() : thread_([this] { run(); }) {
    while (!is_inside_) std::this_thread::yield();
  }
  ~Reader() { end(); }
  void end() {
    may_end_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    reading_section section;
    {
      reading_section nested;
    }
    is_inside_ = true;
    while (!may_end_) std::this_thread::yield();
  }

  std::atomic<bool> is_inside_{false}, may_end_{false};
  std::thread thread_;
};

// The first of the tests: the process must not yet have made the key of the hook.
TEST(Epoch, ThreadsThatCannotBeHookedCount) {
  const pid_t child = fork();  // other tests need keys
  if (child == 0) {
    pthread_key_t key;
    while (pthread_key_create(&key, nullptr) == 0) {
    }
    bool held = false, passed = false;
    std::thread([&] {
      Reader reader;
      reading_section section;
      if (corbel::detail::this_epoch_reader.mode != epoch_reader::kUnlisted) return;
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
  pthread_t thread;
  const auto end_inside = [](void*) -> void* {
    alignas(reading_section) static char room[sizeof(reading_section)];
    new (room) reading_section;  // never destroyed
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, end_inside, nullptr), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(has_passed(retire_epoch()));
}

// A destructor of the C library's that runs after the library's own hook, which the system
// need not call again.
TEST(Epoch, ASectionMayFollowTheEndOfTheThread) {
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void*) {
                                 reading_section section;
                                 EXPECT_FALSE(has_passed(retire_epoch()));
                                 const auto mode = corbel::detail::this_epoch_reader.mode;
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
