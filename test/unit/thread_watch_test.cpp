// SPDX-License-Identifier: Apache-2.0
// Which file and which thread a ThreadWatch watches.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "alloc/heap/heap.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

class ThreadWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::can_watch_threads()) GTEST_SKIP() << "the system does not show what its threads do";
  }
};

// The number that a watch has used may be another file's by now: the program closes files that it
// does not know, with closefrom for example.
TEST_F(ThreadWatchTest, AWatchClosesOnlyItsOwnFile) {
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(next);
  {
    const os::ThreadWatch watch(os::thread_id(), &this_heap, &this_heap);
    ASSERT_EQ(close(next), 0) << "the watch has another number";
    ASSERT_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), next);
  }
  EXPECT_EQ(close(next), 0) << "the watch has closed a file of the program";
  {
    const os::ThreadWatch watch(os::thread_id(), &this_heap, &this_heap);
  }
  EXPECT_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), next) << "the watch has left its file open";
  close(next);
}

// In a process that was cloned into another namespace of process ids, the id that a heap remembers
// may be another thread's. A variable of that thread's stack stands for the heap's owner here.
TEST_F(ThreadWatchTest, AnIdThatBelongsToAnotherThread) {
  void* head = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(syscall(SYS_get_robust_list, 0, &head, &size), 0);
  if (head == nullptr) GTEST_SKIP() << "the C library (musl) tells the kernel of no robust mutexes";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  std::atomic<std::uint32_t> id{0};
  std::atomic<const void*> on_stack{nullptr};
  std::atomic<const void*> local{nullptr};
  std::thread thread([&] {
    const char variable = 0;
    on_stack = &variable;
    local = &this_heap;
    id = os::thread_id();
    char byte;
    EXPECT_EQ(read(pipe[0], &byte, 1), 1);
  });
  while (id == 0) std::this_thread::yield();
  os::ThreadWatch right(id, local, &this_heap);
  while (!right.is_asleep()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(right.is_still_asleep());
  os::ThreadWatch wrong(id, on_stack, &this_heap);
  EXPECT_FALSE(wrong.is_asleep());
  EXPECT_EQ(write(pipe[1], "x", 1), 1);
  thread.join();
  close(pipe[0]);
  close(pipe[1]);
}

}  // namespace
}  // namespace corbel::alloc
