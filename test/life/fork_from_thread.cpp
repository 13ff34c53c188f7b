// SPDX-License-Identifier: Apache-2.0
// fork from other threads than the main one, from several at once, and over several generations.
// Each generation frees blocks of its parent's threads, including threads that no longer exist.
#include <pthread.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "life.hpp"

namespace {

void expect_exit(pid_t child, int code) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

// exit, not _exit: exit handlers and thread-local destructors run in the child, too.
[[noreturn]] void descend(int generations, unsigned char* inherited) {
  life::free_block(inherited, 4000);
  unsigned char* mine = nullptr;
  std::thread([&mine] { mine = life::make_block(4000); }).join();
  if (generations == 0) {
    life::free_block(mine, 4000);
    std::exit(5);
  }
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) descend(generations - 1, mine);
  expect_exit(child, 5);
  life::free_block(mine, 4000);
  std::exit(5);
}

}  // namespace

int main() {
  life::check_replacement();
  life::give_up_after(200);
  // A program's own fork handlers may allocate: they run outside of the allocator's.
  pthread_atfork([] { life::use_malloc(1); }, [] { life::use_malloc(1); },
                 [] { life::use_malloc(1); });
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 5; ++k) {
          unsigned char* block = life::make_block(4000);
          const pid_t child = fork();
          CHECK(child >= 0);
          if (child == 0) descend(4, block);
          expect_exit(child, 5);
          life::free_block(block, 4000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return life::passed("fork from thread");
}
