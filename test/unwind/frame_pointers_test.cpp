// SPDX-License-Identifier: Apache-2.0
// A C library that does not tell where the unwind tables are, as musl: only frame pointers lead on.
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "unwind_test.hpp"

// Takes the place of glibc's.
extern "C" int _dl_find_object(void*, dl_find_object*) noexcept { return -1; }

namespace {

using unwind_test::Frames;

constexpr unsigned kMax = 200;
void* captured[kMax];
unsigned count;

void keep_stack() {
  count = corbel::unwind::capture(captured, kMax, 0);
  asm volatile("" : : : "memory");
}

__attribute__((noinline)) void recurse(unsigned depth, void (*at_the_end)()) {
  if (depth > 1) {
    recurse(depth - 1, at_the_end);
  } else {
    at_the_end();
  }
  asm volatile("" : : : "memory");
}

// The calls in recurse() return to two addresses.
unsigned most_frequent() {
  unsigned most = 0;
  for (unsigned i = 0; i < count; ++i) {
    most = std::max(most, unsigned(std::count(captured, captured + count, captured[i])));
  }
  return most;
}

TEST_CASE(frame_pointers_lead_on) {
  recurse(30, keep_stack);
  CHECK(most_frequent() == 29);
  CHECK(count >= 33);  // keep_stack, recurse, this, and the functions that run the tests
}

TEST_CASE(frame_pointers_lead_to_a_signal) {
  struct sigaction action{};
  action.sa_handler = [](int) { keep_stack(); };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  const auto interrupt = [] {
#if defined(__x86_64__)
    // In this function, not in the C library's, which has no frame pointers.
    asm volatile("syscall"
                 :
                 : "a"(SYS_tgkill), "D"(getpid()), "S"(gettid()), "d"(SIGUSR1)
                 : "rcx", "r11", "memory");
#else
    raise(SIGUSR1);
#endif
  };
  recurse(30, interrupt);
  CHECK(most_frequent() == 29);
}

}  // namespace
