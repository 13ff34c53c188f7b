// SPDX-License-Identifier: Apache-2.0
// The state a thread leaves on a stack: registers and signal mask. On glibc by its ucontext
// functions, which musl lacks.
#pragma once

#include <limits.h>  // says whether the C library is glibc
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace corbel::os {

#if defined(__GLIBC__)

class Context {
 public:
  // The first switch to it calls `run(argument)` on the stack, with the calling thread's signal
  // mask and floating-point settings. `run` must never return. False if the system refuses. A
  // function of its own: getcontext returns twice, like setjmp, and compilers warn of variables
  // that a second return could clobber.
  __attribute__((noinline)) bool prepare(void* stack, std::size_t size, void (*run)(void*),
                                         void* argument) {
    if (getcontext(&context_) != 0) return false;
    context_.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = size};
    context_.uc_link = nullptr;
    run_ = run;
    argument_ = argument;
    // makecontext passes ints only, so the pointer travels in two halves.
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(&begin), 2, unsigned(self >> 32),
                unsigned(self));
    return true;
  }

  // Leaves the calling thread's state here and goes on with `other`.
  void switch_to(const Context& other) { swapcontext(&context_, &other.context_); }

  sigset_t& signal_mask() { return context_.uc_sigmask; }

 private:
  static void begin(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Context*>(std::uintptr_t{high} << 32 | low);
    self->run_(self->argument_);
  }

  ucontext_t context_;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
};

#else

class Context {
 public:
  bool prepare(void* stack, std::size_t size, void (*run)(void*), void* argument);
  void switch_to(const Context& other);
  sigset_t& signal_mask() { return mask_; }

 private:
  void* top_ = nullptr;  // of the stack, where the registers lie
  sigset_t mask_;
};

#endif

}  // namespace corbel::os
