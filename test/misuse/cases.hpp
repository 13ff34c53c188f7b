// SPDX-License-Identifier: Apache-2.0
// Programs that run one of several cases, each a small misuse.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace misuse {

struct Case {
  const char* name;
  void (*body)();
};

// Prints the address at once, because nothing is flushed after an abort.
inline void* announce(void* pointer) {
  char line[64];
  const int n =
      std::snprintf(line, sizeof line, "0x%llx\n",
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  if (write(STDOUT_FILENO, line, std::size_t(n)) != n) _exit(2);
  return pointer;
}

// Runs the case that the command line names and returns 0. If it names none, prints the names and
// returns 2.
template <std::size_t kCount>
int run_case(int argc, char** argv, const Case (&cases)[kCount]) {
  for (const Case& c : cases) {
    if (argc == 2 && std::strcmp(argv[1], c.name) == 0) {
      c.body();
      return 0;
    }
  }
  for (const Case& c : cases) std::puts(c.name);
  return 2;
}

// Calls `body` in two threads, at the same time as far as possible.
template <class Body>
void at_the_same_time(Body body) {
  std::atomic<int> ready{0};
  const auto wait_and_run = [&] {
    ++ready;
    while (ready != 2) {
    }
    body();
  };
  std::thread other(wait_and_run);
  wait_and_run();
  other.join();
}

// Forks `forks` times while other threads call `busy` over and over; each child calls `use`. False
// if one of them does not end.
template <class Busy, class Use>
bool fork_while_busy(int forks, Busy busy, Use use) {
  constexpr int kThreads = 3;
  constexpr unsigned kMaxSeconds = 30;  // only a failure takes so long
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!stop) busy();
    });
  }
  bool ended = true;
  for (int i = 0; i < forks && ended; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kMaxSeconds);
      use();
      _exit(0);
    }
    int status = -1;
    ended = waitpid(child, &status, 0) == child && status == 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return ended;
}

}  // namespace misuse
