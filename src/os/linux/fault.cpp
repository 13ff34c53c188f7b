// SPDX-License-Identifier: Apache-2.0
// SIGSEGV and SIGBUS.
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {

namespace {

using FaultHandler = void (*)(const Fault&);
constinit FaultHandler fault_handler = nullptr;
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
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSEGV, &action, &before_segv) == 0 &&
         sigaction(SIGBUS, &action, &before_bus) == 0;
}

}  // namespace corbel::os
