// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of a process's life: checks that report without malloc, figures of the
// process, and a check that the intended allocator is in use.
//
// Each test is a program that uses malloc and new as any program does. It runs on Corbel by
// LD_PRELOAD, and also on the C library's malloc, which shows that the test itself is fair.
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace life {

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
  char text[512];
  const int n =
      std::snprintf(text, sizeof text, "%s:%d: FAILED: %s (errno %d)\n", file, line, what, errno);
  if (n > 0 && write(STDERR_FILENO, text, std::size_t(n)) < 0) _exit(2);
  _exit(1);
}

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : life::fail(__FILE__, __LINE__, #condition))

// A hang ends with a message, not with the patience of the person who waits.
inline void give_up_after(unsigned seconds) {
  struct sigaction action = {};
  action.sa_handler = [](int) { fail("life", 0, "hangs"); };
  sigaction(SIGALRM, &action, nullptr);
  alarm(seconds);
}

// The tests that run on Corbel set CORBEL_EXPECT_REPLACED.
inline bool is_control() { return std::getenv("CORBEL_EXPECT_REPLACED") == nullptr; }

inline void check_replacement() {
  if (is_control()) return;
  for (const char* name : {"malloc", "free", "_Znwm", "_ZdlPvm"}) {
    Dl_info info = {};
    void* symbol = dlsym(RTLD_DEFAULT, name);
    CHECK(symbol != nullptr);
    CHECK(dladdr(symbol, &info) != 0);
    CHECK(std::strstr(info.dli_fname, "corbelmalloc_proxy") != nullptr);
  }
}

// Returns the value of a line "<key>: <n> kB" of /proc/self/status in KiB, without malloc.
inline std::size_t status_kib(const char* key) {
  static thread_local char text[8192];
  FILE* file = std::fopen("/proc/self/status", "r");
  CHECK(file != nullptr);
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = '\0';
  const char* line = std::strstr(text, key);
  CHECK(line != nullptr);
  return std::strtoull(line + std::strlen(key) + 1, nullptr, 10);
}

// Makes a block whose content is checked when it is freed.
inline unsigned char* make_block(std::size_t size) {
  auto* block = static_cast<unsigned char*>(std::malloc(size));
  CHECK(block != nullptr);
  std::memset(block, int(size & 0xff), size);
  return block;
}

inline void free_block(unsigned char* block, std::size_t size) {
  if (size > 0) {
    CHECK(block[0] == (size & 0xff));
    CHECK(block[size / 2] == (size & 0xff));
    CHECK(block[size - 1] == (size & 0xff));
  }
  std::free(block);
}

// Allocates blocks of many sizes and frees them all.
inline void use_malloc(unsigned rounds) {
  constexpr std::size_t kSizes[] = {1, 16, 24, 100, 500, 2000, 9000, 40000, 300000};
  unsigned char* blocks[sizeof kSizes / sizeof kSizes[0]];
  for (unsigned round = 0; round < rounds; ++round) {
    std::size_t i = 0;
    for (std::size_t size : kSizes) blocks[i++] = make_block(size + round % 7);
    for (std::size_t k = 0; k < i; ++k) free_block(blocks[k], kSizes[k] + round % 7);
  }
}

inline int passed(const char* name) {
  std::printf("life: passed %s\n", name);
  return 0;
}

}  // namespace life
