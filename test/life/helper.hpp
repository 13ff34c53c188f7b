// SPDX-License-Identifier: Apache-2.0
// The allocator's helper thread as seen from outside, and the resident size. All is read without
// malloc, because the look must not wake any thread.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "life.hpp"

namespace life {

inline void pause_ms(long ms) {
  const timespec t{ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
}

// Returns the content of a file of the process, or "".
inline const char* read_file(const char* path) {
  static thread_local char text[16384];
  text[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  const ssize_t n = read(file, text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  close(file);
  return text;
}

inline std::uint64_t number_after(const char* text, const char* key, int base = 10) {
  const char* line = std::strstr(text, key);
  return line != nullptr ? std::strtoull(line + std::strlen(key), nullptr, base) : 0;
}

inline std::size_t resident_kib() { return number_after(read_file("/proc/self/status"), "VmRSS:"); }

// Calls `visit` with the id of each thread of the process.
template <typename Visit>
void for_each_thread(const Visit& visit) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  alignas(Entry) char entries[8192];
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(folder >= 0);
  for (;;) {
    const long n = syscall(SYS_getdents64, folder, entries, sizeof entries);
    CHECK(n >= 0);
    if (n == 0) break;
    for (long at = 0; at < n; at += reinterpret_cast<Entry*>(entries + at)->length) {
      const char* const name = reinterpret_cast<Entry*>(entries + at)->name;
      if (name[0] != '.') visit(std::atoi(name));
    }
  }
  close(folder);
}

// Returns the id of the thread named "corbel", or 0.
inline int helper_thread() {
  int found = 0;
  for_each_thread([&](int thread) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    if (std::strcmp(read_file(path), "corbel\n") == 0) found = thread;
  });
  return found;
}

inline const char* thread_status(int thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  return read_file(path);
}

// Returns when the kernel shows all other threads of the process asleep. The caller sets an alarm.
inline void wait_until_others_sleep() {
  for (int awake = 1; awake != 0;) {
    awake = 0;
    for_each_thread([&](int thread) {
      if (thread == gettid()) return;
      const char* const state = std::strstr(thread_status(thread), "\nState:\t");
      if (state != nullptr && state[8] != 'S') ++awake;
    });
    if (awake != 0) pause_ms(5);
  }
}

// How often the thread was scheduled.
inline std::uint64_t runs_of(int thread) {
  const char* text = thread_status(thread);
  return number_after(text, "\nvoluntary_ctxt_switches:") +
         number_after(text, "\nnonvoluntary_ctxt_switches:");
}

}  // namespace life
