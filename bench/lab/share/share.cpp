// SPDX-License-Identifier: Apache-2.0
// The share of a program's CPU time that is spent inside its allocator, for the CAD conversion. It
// is a preload library before the contestant that sets a flag during every call, and a timer that
// samples the flag.
//
// Why a flag, and not the symbol at the sampled address: contestants are stripped, their functions
// are inlined into each other, and much of the cost of an allocator is elsewhere: in the kernel,
// which maps and unmaps pages, in the memset of calloc, in the loader's thread-local lookup. The
// flag includes all of that, for every contestant alike, without unwinding stacks. It misses the
// work in threads of the allocator.
//
// The flag costs two stores per call and the forwarding one indirect jump, so a run with this
// library measures the share and not the time. A tick of the kernel's CPU timers is 1 to 10 ms:
// half a second of CPU time is 50 to 500 samples.
//
// Every process appends a line to the file BENCH_SHARE_FILE at its exit or exec:
//   <samples> <samples inside the allocator>
#include "family.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

// A depth, because without a contestant's operator new that of libstdc++ calls our malloc.
// Initial-exec, because another TLS model may allocate; volatile, because the signal handler reads
// it in the same thread.
__thread volatile int inside __attribute__((tls_model("initial-exec")));
std::atomic<unsigned long> samples{0};
std::atomic<unsigned long> samples_inside{0};
char file_name[4096];
pid_t owner = 0;  // a forked child has no timer and nothing to report

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

// No stdio streams: they allocate, and may be closed already at exit.
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

// The timer survives exec and the handler does not: the first tick would kill the new program.
template <typename... Arguments>
int replaced(const char* name, Arguments... arguments) {
  const bool ours = measuring();
  if (ours) {
    set_timer(0);
    tell();
  }
  using Exec = int(Arguments...);
  const int result = reinterpret_cast<Exec*>(dlsym(RTLD_NEXT, name))(arguments...);
  if (ours) set_timer(1000);  // exec returns only on failure
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
