// SPDX-License-Identifier: Apache-2.0
// What the tests ask the system for: here Linux, in the folder beside this one Windows.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace test {

// Whether the system moves the pages of a block that grows.
inline constexpr bool kMovesPages = true;
// Whether the system tells that a thread sleeps, so that its heap can be taken over.
inline constexpr bool kWatchesThreads = true;
// Whether the end of a thread may wait for other threads.
inline constexpr bool kEndsOfThreadsMayWait = true;
// Whether an exception that leaves a callback of the allocator calls the terminate handler. Else it
// ends the process as abort() does.
inline constexpr bool kTerminatesOutOfC = true;

struct ProcessMemory {
  std::size_t mapped;  // bytes, both
  std::size_t resident;
};

inline std::size_t page_size() { return std::size_t(sysconf(_SC_PAGESIZE)); }

// See proc(5), statm.
inline ProcessMemory process_memory() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  std::size_t mapped = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%zu %zu", &mapped, &resident) != 2) std::abort();
  std::fclose(file);
  return {mapped * page_size(), resident * page_size()};
}

inline std::size_t own_stack_size() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  std::size_t size = 0;
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

// nullptr if there is no memory.
inline void* aligned_block(std::size_t alignment, std::size_t size) {
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}
inline void free_aligned(void* block) { std::free(block); }

// How many processors the calling thread may use; 0: not known.
inline int own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Leaves this process one processor; returns whether that was possible. To be called in its main
// thread before there is another.
inline bool keep_one_processor() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return false;
  for (int i = 0, kept = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask) && kept++ != 0) CPU_CLR(i, &mask);
  }
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

// Runs this program with one argument, and returns what it has printed.
inline std::string output_of_this_program(const char* argument) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execl("/proc/self/exe", "test", argument, nullptr);
    _exit(1);
  }
  close(ends[1]);
  char text[200] = "";
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return std::string(text, length > 0 ? std::size_t(length) : 0);
}

// Lets other threads run for a while.
inline void pass_time(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }

// Runs `body` in a thread with a stack of that size, and waits for its end.
class ThreadWithStack {
 public:
  ThreadWithStack(std::size_t bytes, std::function<void()> body) : body_(std::move(body)) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, bytes) != 0) std::abort();
    if (pthread_create(&thread_, &attributes, &call, this) != 0) std::abort();
    pthread_attr_destroy(&attributes);
  }
  ~ThreadWithStack() { pthread_join(thread_, nullptr); }
  ThreadWithStack(const ThreadWithStack&) = delete;
  ThreadWithStack& operator=(const ThreadWithStack&) = delete;

 private:
  static void* call(void* self) {
    static_cast<ThreadWithStack*>(self)->body_();
    return nullptr;
  }

  const std::function<void()> body_;
  pthread_t thread_{};
};

}  // namespace test
