// SPDX-License-Identifier: Apache-2.0
// SIGSEGV and SIGBUS, and random numbers.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

#ifndef GRND_NONBLOCK
#define GRND_NONBLOCK 1
#endif

namespace corbel::os {

std::uint64_t random_word() {
  ErrnoGuard guard;
  std::uint64_t word = 0;
  if (syscall(SYS_getrandom, &word, sizeof word, GRND_NONBLOCK) == sizeof word) return word;
  // Early after the start of the machine, or in a sandbox: the addresses of a process are random.
  word = now_ns() * 0x9e3779b97f4a7c15U ^ reinterpret_cast<std::uintptr_t>(&word) << 16;
  return word ^ reinterpret_cast<std::uintptr_t>(&random_word) * 0x9e3779b97f4a7c15U;
}

namespace {

constinit void (*fault_handler)(const Fault&) = nullptr;
struct sigaction before_segv, before_bus;

Fault::Kind kind_of([[maybe_unused]] const ucontext_t* context) {
#if defined(__x86_64__)
  // Bit 1 of the error code of a page fault (Intel SDM, volume 3, 4.7).
  return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? Fault::Kind::kWrite : Fault::Kind::kRead;
#else
  return Fault::Kind::kUnknown;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  // Only the kernel knows an address; a signal that was sent has none.
  if (info->si_code > 0) {
    fault_handler({info->si_addr, kind_of(static_cast<ucontext_t*>(context)), context});
  }
  errno = saved;
  const struct sigaction& before = signal == SIGSEGV ? before_segv : before_bus;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    // The access is repeated, and ends the process.
    sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) raise(signal);
  }
}

}  // namespace

bool on_fault(void (*handler)(const Fault& fault)) {
  ErrnoGuard guard;
  fault_handler = handler;
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSEGV, &action, &before_segv) == 0 &&
         sigaction(SIGBUS, &action, &before_bus) == 0;
}

}  // namespace corbel::os
