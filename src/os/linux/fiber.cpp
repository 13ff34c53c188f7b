// SPDX-License-Identifier: Apache-2.0
// Fibers.
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "base/address_sanitizer.hpp"
#include "os/linux/context.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

// The interface of the sanitizers for stack switches; null in a program without one.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake, const void* bottom,
                                                          std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake, const void** bottom,
                                                           std::size_t* size);
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace corbel::os {

// The state of a stack that the thread has left.
struct Fiber::Saved {
  Context context;
  void* fake_stack = nullptr;
  const void* bottom = nullptr;  // the lowest address of the stack, for the address sanitizer
  std::size_t size = 0;
};

Fiber::Fiber() : saved_(new(std::nothrow) Saved) {
  if (__tsan_get_current_fiber != nullptr) sanitizer_ = __tsan_get_current_fiber();
}

Fiber::Fiber(std::size_t stack_size, void (*run)(void*), void* argument)
    : run_(run), argument_(argument) {
  ErrnoGuard guard;
  const std::size_t page = page_size();
  if (stack_size < std::size_t(PTHREAD_STACK_MIN)) stack_size = default_stack_size();
  if (stack_size > SIZE_MAX / 2) return;
  stack_size_ = (stack_size + page - 1) / page * page + page;
  void* const memory = mmap(nullptr, stack_size_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  mprotect(memory, page, PROT_NONE);  // a guard page: a stack overflow faults
  // Most of a stack is never touched: huge pages would waste memory.
  madvise(memory, stack_size_, MADV_NOHUGEPAGE);
  saved_ = new (std::nothrow) Saved;
  void* const bottom = static_cast<char*>(memory) + page;
  const auto entry = [](void* self) {
    auto* const fiber = static_cast<Fiber*>(self);
    fiber->arrive(fiber->from_);
    fiber->run_(fiber->argument_);
    abort();
  };
  if (saved_ == nullptr || !saved_->context.prepare(bottom, stack_size_ - page, entry, this)) {
    delete saved_;
    saved_ = nullptr;
    munmap(memory, stack_size_);
    return;
  }
  stack_ = memory;
  saved_->bottom = bottom;
  saved_->size = stack_size_ - page;
  if (__tsan_create_fiber != nullptr) sanitizer_ = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  delete saved_;
  if (stack_ == nullptr) return;
  if (__tsan_destroy_fiber != nullptr) __tsan_destroy_fiber(sanitizer_);
  asan_clear_stack(stack_, stack_size_);
  ErrnoGuard guard;
  munmap(stack_, stack_size_);
}

StackRange Fiber::stack() const {
  if (stack_ == nullptr) return {};
  const auto low = reinterpret_cast<std::uintptr_t>(stack_);
  return {low + page_size(), low + stack_size_};
}

void Fiber::arrive(const Fiber* from) {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(saved_->fake_stack, &bottom, &size);
  // The first switch away from the thread's own stack tells where that stack lies.
  if (from->saved_->bottom == nullptr) {
    from->saved_->bottom = bottom;
    from->saved_->size = size;
  }
}

void Fiber::take_signal_mask() {
  ErrnoGuard guard;
  pthread_sigmask(SIG_SETMASK, nullptr, &saved_->context.signal_mask());
}

void Fiber::switch_to(Fiber& other) {
  other.from_ = this;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&saved_->fake_stack, other.saved_->bottom, other.saved_->size);
  }
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(other.sanitizer_, 0);
  saved_->context.switch_to(other.saved_->context);
  arrive(from_);
}

}  // namespace corbel::os
