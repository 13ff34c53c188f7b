// SPDX-License-Identifier: Apache-2.0
// Futexes, clocks and the hooks into the life of threads and processes.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

struct ExitHook {
  void (*function)(void*);
  pthread_key_t key;
  std::atomic<std::uint32_t> state;  // 0: no key yet, 1: being made, 2: ready, 3: refused
};
constinit ExitHook exit_hook{};

void run_exit_hook(void* argument) { exit_hook.function(argument); }

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  ErrnoGuard guard;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value,
          nullptr, nullptr, 0);
}

bool exit_key_ready(void (*on_exit)(void*)) {
  // (1) acquire: sees the key published by (2)
  std::uint32_t state = exit_hook.state.load(std::memory_order_acquire);
  if (state >= 2) return state == 2;
  // acquire: as (1), for whoever comes second
  if (exit_hook.state.compare_exchange_strong(state, 1, std::memory_order_acquire,
                                              std::memory_order_acquire)) {
    exit_hook.function = on_exit;
    const bool made = pthread_key_create(&exit_hook.key, run_exit_hook) == 0;
    exit_hook.state.store(made ? 2 : 3, std::memory_order_release);  // (2) with (1)
    return made;
  }
  while ((state = exit_hook.state.load(std::memory_order_acquire)) == 1) yield();  // with (2)
  return state == 2;
}

}  // namespace

void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  futex(word, FUTEX_WAIT, expected);
}

void wake_one(std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, 1); }

void yield() { sched_yield(); }

std::uint64_t now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::uint64_t(t.tv_sec) * 1000 + std::uint64_t(t.tv_nsec) / 1000000;
}

bool at_thread_exit(void (*on_exit)(void*), void* argument) {
  ErrnoGuard guard;
  return exit_key_ready(on_exit) && pthread_setspecific(exit_hook.key, argument) == 0;
}

void at_fork(void (*prepare)(), void (*parent)(), void (*child)()) {
  ErrnoGuard guard;
  pthread_atfork(prepare, parent, child);
}

}  // namespace corbel::os
