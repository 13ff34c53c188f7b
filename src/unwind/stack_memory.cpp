// SPDX-License-Identifier: Apache-2.0
#include "unwind/stack_memory.hpp"

#include "base/bits.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::unwind {

namespace {

// The system has no smaller pages.
constexpr std::size_t kPage = 4096;

// What this thread knows of the stack that it was started with: that it reaches, without a gap,
// from here up to the thread's control block. 0: nothing yet. A thread's stack stays mapped as long
// as the thread lives, so what has been found once remains true. (Unless the program carves the
// stacks of threads and fibers, without a gap, from one mapping of its own, and then unmaps parts
// of that.)
CORBEL_THREAD_VARIABLE(std::uintptr_t, own_stack_low) = 0;
// The page below is no part of the stack.
CORBEL_THREAD_VARIABLE(bool, own_stack_low_is_end) = false;

// Asks the system for each page once, a few at each call: that takes time, and a thread seldom uses
// much of its stack at once. Returns whether `sp` is on the thread's own stack, as far as is known.
bool is_on_own_stack(std::uintptr_t sp, std::uintptr_t control_block) {
  constexpr unsigned kMaxPages = 64;
  constexpr std::size_t kMaxStack = std::size_t{1} << 30;
  if (sp >= control_block || control_block - sp > kMaxStack) return false;
  if (own_stack_low == 0) {
    own_stack_low = align_down(control_block, kPage);
    // The main thread's control block is elsewhere, and below it is memory of any kind.
    own_stack_low_is_end = os::is_main_thread(os::thread_id());
  }
  for (unsigned i = 0; sp < own_stack_low; ++i) {
    if (i == kMaxPages || own_stack_low_is_end) return false;
    if (!os::can_read(own_stack_low - kPage)) {
      own_stack_low_is_end = true;
      return false;
    }
    own_stack_low -= kPage;
  }
  return true;
}

// No other memory is so near to the main stack.
bool is_near_main_stack(std::uintptr_t address) {
  const std::uintptr_t end = os::main_stack_end();
  return address < end && end - address < os::main_stack_room();
}

// Whether the main stack reaches from its end down to `sp`. It does where this function runs on it.
// Else, as on the stack of a signal handler, the system knows.
bool is_on_main_stack(std::uintptr_t sp) {
  if (!is_near_main_stack(sp)) return false;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return (is_near_main_stack(here) && here <= sp) || os::can_read(align_down(sp, kPage));
}

}  // namespace

void StackMemory::use_stack_of(std::uintptr_t stack_pointer) {
  low_ = stack_pointer;
  if (is_on_main_stack(stack_pointer)) {
    size_ = os::main_stack_end() - low_;
    return;
  }
  const std::uintptr_t end = arch::thread_pointer();
  size_ = is_on_own_stack(stack_pointer, end) ? end - low_ : 0;
}

bool StackMemory::find_page(std::uintptr_t address) {
  const std::uintptr_t page = align_down(address, kPage);
  if (page == 0 || !os::can_read(page)) return false;
  if (size_ != 0 && page == low_ + size_) {
    size_ += kPage;
  } else {
    low_ = page;
    size_ = kPage;
  }
  return true;
}

}  // namespace corbel::unwind
