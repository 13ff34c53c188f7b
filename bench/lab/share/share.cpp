// SPDX-License-Identifier: Apache-2.0
// The share of a program's CPU time that is spent inside its allocator, for the CAD conversion: a
// preload library in front of the contestant that raises a flag around every call, and a timer that
// looks at the flag.
//
// Why a flag, and not the symbol at the sampled address: contestants are stripped, their functions
// are inlined into one another, and much of the cost of an allocator is spent elsewhere: in the
// kernel giving and taking pages, in memset on behalf of calloc, in the loader's thread-local
// lookup. With the flag all of that counts, alike for every contestant, without unwinding stacks.
// What the flag misses is what an allocator does in threads of its own.
//
// The flag costs two stores a call and the detour one indirect jump; so a run with this library is
// for the share, not for the time. A tick of the kernel's CPU timers is 1 to 10 ms: half a second
// of CPU time is 50 to 500 samples.
//
// BENCH_SHARE_FILE names the file that every process appends a line to as it ends or is replaced:
//   <samples> <of these inside the allocator>
#include "family.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

// A depth: where no contestant has operator new, that of libstdc++ calls our malloc. Initial-exec,
// for another model may itself allocate; volatile, for the handler reads it in the same thread.
__thread volatile int inside __attribute__((tls_model("initial-exec")));
std::atomic<unsigned long> samples{0};
std::atomic<unsigned long> samples_inside{0};
char file_name[4096];
pid_t owner = 0;  // a child that has forked has no timer, and nothing to tell

void sample(int) {
  samples.fetch_add(1, std::memory_order_relaxed);
  if (inside > 0) samples_inside.fetch_add(1, std::memory_order_relaxed);
}

void set_timer(long microseconds) {
  itimerval often{};
  often.it_interval.tv_usec = often.it_value.tv_usec = microseconds;
  setitimer(ITIMER_PROF, &often, nullptr);
}

bool measuring() { return owner != 0 && getpid() == owner; }

// No stdio streams: they allocate, and at exit they may be gone.
void tell() {
  char line[64];
  const unsigned long all = samples.exchange(0, std::memory_order_relaxed);
  const unsigned long some = samples_inside.exchange(0, std::memory_order_relaxed);
  const int length = snprintf(line, sizeof line, "%lu %lu\n", all, some);
  const int file = open(file_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (write(file, line, static_cast<size_t>(length)) < 0) errno = 0;
  close(file);
}

extern "C" char** environ;

__attribute__((constructor)) void begin() {
  for (char** variable = environ; variable && *variable; ++variable) {
    if (__builtin_strncmp(*variable, "BENCH_SHARE_FILE=", 17) != 0) continue;
    if (__builtin_strlen(*variable + 17) >= sizeof file_name) return;
    __builtin_strcpy(file_name, *variable + 17);
    owner = getpid();
    struct sigaction action{};
    action.sa_handler = sample;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    set_timer(1000);
    return;
  }
}

__attribute__((destructor)) void end() {
  if (!measuring()) return;
  set_timer(0);
  tell();
}

// The timer survives exec, the handler does not: the new program would be killed by the first tick.
template <typename... Arguments>
int replaced(const char* name, Arguments... arguments) {
  const bool ours = measuring();
  if (ours) {
    set_timer(0);
    tell();
  }
  using Exec = int(Arguments...);
  const int result = reinterpret_cast<Exec*>(dlsym(RTLD_NEXT, name))(arguments...);
  if (ours) set_timer(1000);  // only a failure comes back
  return result;
}

}  // namespace

static inline void entering() { inside = inside + 1; }
static inline void leaving() { inside = inside - 1; }
template <typename T>
static inline T on_the_way(T value) {
  return value;
}

#define BENCH_EXPORT __attribute__((visibility("default")))

extern "C" BENCH_EXPORT int execve(const char* path, char* const* words, char* const* variables) {
  return replaced("execve", path, words, variables);
}
extern "C" BENCH_EXPORT int execv(const char* path, char* const* words) {
  return replaced("execv", path, words);
}
extern "C" BENCH_EXPORT int execvp(const char* path, char* const* words) {
  return replaced("execvp", path, words);
}
