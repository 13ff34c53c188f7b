// SPDX-License-Identifier: Apache-2.0
// A process that ends while its threads allocate: by return from main, exit, quick_exit, _exit,
// abort, and by the end of the main thread only. Each many times.
#include <pthread.h>
#include <sys/wait.h>

#include <thread>

#include "life.hpp"

namespace {

void start_threads() {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) life::use_malloc(1);
    }).detach();
  }
}

[[noreturn]] void leave(int way) {
  life::give_up_after(30);
  start_threads();
  for (int i = 0; i < 20; ++i) life::use_malloc(1);
  std::atexit([] { life::use_malloc(2); });
  std::at_quick_exit([] { life::use_malloc(2); });
  switch (way) {
    case 0:
      std::exit(11);
    case 1:
      std::quick_exit(11);
    case 2:
      _exit(11);
    case 3:
      signal(SIGABRT, [](int) { _exit(11); });
      std::abort();
    default:
      // The process continues in another thread.
      std::thread([] {
        usleep(1000);
        std::exit(11);
      }).detach();
      pthread_exit(nullptr);
  }
}

}  // namespace

int main() {
  life::check_replacement();
  for (int round = 0; round < 60; ++round) {
    for (int way = 0; way < 5; ++way) {
      const pid_t child = fork();
      CHECK(child >= 0);
      if (child == 0) leave(way);
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 11) {
        std::fprintf(stderr, "way %d, status 0x%x\n", way, unsigned(status));
        CHECK(!"ended otherwise");
      }
    }
  }
  return life::passed("leave early");
}
