// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share. Each prints what must be the same on every libtbb.so.12;
// they wait for conditions, never for a time.
#pragma once

#include <dirent.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#ifdef __SANITIZE_THREAD__
#define SANITIZES_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS
#endif
#endif

inline void say(const char* what, long value) {
  std::printf("%s: %ld\n", what, value);
  std::fflush(stdout);
}
inline void say(const char* what, const char* value) {
  std::printf("%s: %s\n", what, value);
  std::fflush(stdout);
}

template <typename Condition>
void wait_for(const Condition& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// Without the thread sanitizer's own.
inline long threads_of_process() {
  long count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
#ifdef SANITIZES_THREADS
  --count;
#endif
  return count;
}

// The threads that have called visit().
class Threads {
 public:
  void visit() {
    const std::lock_guard<std::mutex> guard(guard_);
    seen_.insert(std::this_thread::get_id());
  }
  long count() {
    const std::lock_guard<std::mutex> guard(guard_);
    return long(seen_.size());
  }
  bool has(std::thread::id thread) {
    const std::lock_guard<std::mutex> guard(guard_);
    return seen_.count(thread) != 0;
  }

 private:
  std::mutex guard_;
  std::set<std::thread::id> seen_;
};
