// SPDX-License-Identifier: Apache-2.0
// Fibers, on those of the system.
//
// A thread has to be one of the system's fibers before it can switch to another. The program may
// have made it one, and may switch between fibers of its own: then those are used and left as they
// are. So a Fiber for a thread's own stack stands for whatever fiber the thread leaves it on.
#include <cstddef>
#include <new>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

struct Fiber::Saved {
  void* fiber = nullptr;      // the system's
  void* converted = nullptr;  // the one that this object made of the thread, if it did
  std::uint32_t floating_point = 0;
  void* visitor = nullptr;  // the system's fiber that asks where the stack lies
};

namespace {

// As GetCurrentFiber(), of which gcc warns.
void* current_fiber() {
  void* fiber;
  asm volatile("movq %%gs:%c1, %0" : "=r"(fiber) : "i"(offsetof(NT_TIB, FiberData)));
  return fiber;
}

// Makes the thread a fiber unless it is one. False if there is no memory.
bool convert_thread(void** converted) {
  if (IsThreadAFiber()) return true;
  void* const fiber = ConvertThreadToFiberEx(nullptr, FIBER_FLAG_FLOAT_SWITCH);
  if (fiber != nullptr) *converted = fiber;
  return fiber != nullptr;
}

void restore_thread(const void* converted) {
  if (converted != nullptr && IsThreadAFiber() && current_fiber() == converted) {
    ConvertFiberToThread();
  }
}

}  // namespace

Fiber::Fiber() {
  LastErrorGuard guard;
  auto* const saved = new (std::nothrow) Saved;
  if (saved == nullptr) return;
  if (convert_thread(&saved->converted)) {
    saved_ = saved;
  } else {
    delete saved;
  }
}

Fiber::Fiber(std::size_t stack_size, void (*run)(void*), void* argument)
    : run_(run), argument_(argument) {
  LastErrorGuard guard;
  if (stack_size > SIZE_MAX / 2) return;
  auto* const saved = new (std::nothrow) Saved;
  if (saved == nullptr) return;
  const auto entry = [](void* self) {
    auto* const fiber = static_cast<Fiber*>(self);
    ULONG_PTR low = 0, high = 0;
    GetCurrentThreadStackLimits(&low, &high);
    fiber->stack_ = reinterpret_cast<void*>(low);
    fiber->stack_size_ = high - low;
    SwitchToFiber(fiber->saved_->visitor);
    arch::set_floating_point(fiber->saved_->floating_point);
    fiber->run_(fiber->argument_);
    abort();
  };
  void* converted = nullptr;
  if (convert_thread(&converted)) {
    saved->fiber = CreateFiberEx(0, stack_size, FIBER_FLAG_FLOAT_SWITCH, entry, this);
    if (saved->fiber != nullptr) {
      saved->floating_point = arch::floating_point();
      saved->visitor = current_fiber();
      saved_ = saved;
      // Its first visit, which ends at once, finds out where the stack lies.
      SwitchToFiber(saved->fiber);
    }
    restore_thread(converted);
  }
  if (saved_ == nullptr) delete saved;
}

Fiber::~Fiber() {
  if (saved_ == nullptr) return;
  LastErrorGuard guard;
  if (stack_ != nullptr) {
    DeleteFiber(saved_->fiber);
  } else {
    restore_thread(saved_->converted);
  }
  delete saved_;
}

StackRange Fiber::stack() const {
  const auto low = reinterpret_cast<std::uintptr_t>(stack_);
  return {low, low + stack_size_};
}

// There are no signals.
void Fiber::take_signal_mask() {}

void Fiber::switch_to(Fiber& other) {
  LastErrorGuard guard;
  if (stack_ == nullptr) {
    // The program may have made the thread no fiber meanwhile.
    if (!convert_thread(&saved_->converted)) abort();
    saved_->fiber = current_fiber();
  }
  // The system keeps it in fibers that were made so, which those of the program need not be.
  const std::uint32_t floating_point = arch::floating_point();
  SwitchToFiber(other.saved_->fiber);
  arch::set_floating_point(floating_point);
}

}  // namespace corbel::os
