// SPDX-License-Identifier: Apache-2.0
#include "run/child.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "program/library.hpp"
#include "run/run.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;

namespace {

// The command, for the handler that passes signals on.
volatile sig_atomic_t g_command = 0;

void pass_on(int signal) {
  const int error = errno;
  if (g_command > 0) kill(g_command, signal);
  errno = error;
}

}  // namespace

EndedChild run_child(const std::vector<std::string>& command, const std::string& path) {
  constexpr std::array kIgnored = {SIGINT, SIGQUIT};
  constexpr std::array kPassedOn = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    _exit(execute(command, path));
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  g_command = child;
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  for (const int signal : kIgnored) sigaction(signal, &action, nullptr);
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART;
  for (const int signal : kPassedOn) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_command = 0;
  // What remains to be done, such as to remove files, is done even if the reader of the report
  // goes.
  signal(SIGPIPE, SIG_IGN);
  return {child, status};
}

int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  // The command has dumped its core; this process must not put another one in its place.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::fflush(nullptr);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  return 128 + signal;
}

}  // namespace corbel::cli
