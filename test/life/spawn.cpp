// SPDX-License-Identifier: Apache-2.0
// vfork, posix_spawn, system, popen and exec while other threads allocate. The children are
// ordinary programs that also run on the preloaded allocator.
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "life.hpp"

extern char** environ;

namespace {

constexpr int kRounds = 50;
std::atomic<bool> stop{false};

int exit_code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

char shell[] = "/bin/sh";
char flag[] = "-c";
char script[] = "x=$(echo hello); test $x = hello && exit 9";
char* arguments[] = {shell, flag, script, nullptr};

void by_vfork() {
  const pid_t child = vfork();
  CHECK(child >= 0);
  if (child == 0) {
    execve(shell, arguments, environ);
    _exit(127);
  }
  CHECK(exit_code_of(child) == 9);
}

void by_posix_spawn() {
  pid_t child = 0;
  CHECK(posix_spawn(&child, shell, nullptr, nullptr, arguments, environ) == 0);
  CHECK(exit_code_of(child) == 9);
}

void by_system() {
  const int status = std::system(script);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

void by_popen() {
  FILE* pipe = popen("echo one two three", "r");
  CHECK(pipe != nullptr);
  char* line = nullptr;  // getline allocates it
  std::size_t size = 0;
  CHECK(getline(&line, &size, pipe) == 14);
  CHECK(std::string(line) == "one two three\n");
  std::free(line);
  CHECK(pclose(pipe) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  life::check_replacement();
  if (argc == 2 && std::string(argv[1]) == "again") {
    life::use_malloc(5);
    return life::passed("spawn and exec");
  }
  life::give_up_after(120);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      while (!stop.load(std::memory_order_relaxed)) life::use_malloc(1);  // relaxed: ends the loop
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    by_vfork();
    by_posix_spawn();
    by_system();
    by_popen();
    life::use_malloc(1);
  }
  // The threads are still in malloc when the program execs itself.
  char again[] = "again";
  char* next[] = {argv[0], again, nullptr};
  execv("/proc/self/exe", next);
  CHECK(!"exec failed");
}
