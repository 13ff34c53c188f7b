// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "arch/x86_64/frames.hpp"

namespace corbel::arch {

// The width of user addresses with four-level page tables. The kernel hands out higher addresses
// only on request.
inline constexpr unsigned kAddressBits = 47;

// Which word of a thread's registers is the stack pointer, as a tracer gets them
// (user_regs_struct).
inline constexpr unsigned kStackPointerWord = 19;

// Tells the processor that this is a spin loop.
inline void pause() { __builtin_ia32_pause(); }

// The floating-point settings of the thread: the rounding mode and the treatment of denormals, for
// SSE in the lower half and x87 in the upper.
inline std::uint32_t floating_point() {
  std::uint16_t x87;
  asm volatile("fnstcw %0" : "=m"(x87));
  // Without the exception flags, which are not settings.
  return (__builtin_ia32_stmxcsr() & 0xffc0U) | std::uint32_t(x87) << 16;
}
inline void set_floating_point(std::uint32_t settings) {
  const std::uint16_t x87 = std::uint16_t(settings >> 16);
  asm volatile("fldcw %0" ::"m"(x87));
  __builtin_ia32_ldmxcsr(settings & 0xffc0U);
}

// Calls function(argument) on another stack, which ends at `top`, a multiple of 16.
inline void call_on_stack(void (*function)(void*), void* argument, void* top) {
  void* own;
  asm volatile(
      "mov %%rsp, %0\n\t"
      "mov %3, %%rsp\n\t"
      "call *%2\n\t"
      "mov %0, %%rsp"
      : "=&b"(own), "+D"(argument)
      : "r"(function), "r"(top)
      : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15", "cc", "memory");
}

}  // namespace corbel::arch
