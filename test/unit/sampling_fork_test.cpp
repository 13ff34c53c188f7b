// SPDX-License-Identifier: Apache-2.0
// Sampled blocks in children of the process, and those that are misused, which ends the process.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "alloc/heap/fast_path.hpp"
#include "sampling_fixture.hpp"

namespace corbel::alloc {
namespace {

TEST_F(SamplingTest, AForkedChildFreesWhatItsParentAllocated) {
  begin(64);
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(allocate(8 + std::size_t(i) % 10 * 9000));
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) deallocate(allocate(48));
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (void* block : blocks) deallocate(block);
      std::vector<void*> own;
      for (int k = 0; k < 2000; ++k) own.push_back(allocate(100));
      for (void* block : own) deallocate(block);
      // At most the block that the other thread had.
      _exit(recorded().blocks <= 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
  for (void* block : blocks) deallocate(block);
}

// What a child that does this writes to stderr until it ends abnormally.
template <class Misuse>
std::string last_words(Misuse misuse) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    misuse();
    _exit(0);
  }
  close(ends[1]);
  std::string words(200, '\0');
  words.resize(std::size_t(std::max<ssize_t>(read(ends[0], words.data(), words.size()), 0)));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  return words;
}

TEST_F(SamplingTest, ASecondFreeEndsTheProcess) {
  begin(1);
  char* const block = static_cast<char*>(allocate(100));
  void* const other = allocate(100);
  const auto free_twice = [=] {
    deallocate(block);
    deallocate(block);
  };
  EXPECT_NE(last_words(free_twice).find("free: the block was freed twice"), std::string::npos);
  EXPECT_NE(last_words([=] { deallocate(block + 8); }).find("not the start of a block"),
            std::string::npos);
  EXPECT_NE(last_words([=] { (void)reallocate(block + 8, 9); }).find("not the start of a block"),
            std::string::npos);
  deallocate(block);
  deallocate(other);
}

TEST_F(SamplingTest, ASizeThatIsNotTheBlocksEndsTheProcess) {
  begin(1);
  void* const block = allocate(100);
  const Release by_size = Release::by(ReleaseKind::kDelete, 200);
  EXPECT_NE(last_words([=] { deallocate_fast(block, by_size); }).find("the size is not that"),
            std::string::npos);
  deallocate_fast(block, Release::by(ReleaseKind::kDelete, 100));
}

}  // namespace
}  // namespace corbel::alloc
