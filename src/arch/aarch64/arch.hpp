// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "arch/aarch64/frames.hpp"

namespace corbel::arch {

// The width of user addresses with four levels of 4 KiB pages. The kernel hands out higher
// addresses only on request.
inline constexpr unsigned kAddressBits = 48;

// Which word of a thread's registers is the stack pointer, as a tracer gets them (user_pt_regs).
inline constexpr unsigned kStackPointerWord = 31;

// Tells the processor that this is a spin loop. `isb` waits longer than `yield`, which most
// implementations ignore.
inline void pause() { asm volatile("isb" ::: "memory"); }

// The floating-point settings of the thread: the rounding mode and the treatment of denormals.
inline std::uint32_t floating_point() {
  std::uint64_t settings;
  asm volatile("mrs %0, fpcr" : "=r"(settings));
  return std::uint32_t(settings);
}
inline void set_floating_point(std::uint32_t settings) {
  asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{settings}));
}

// Calls function(argument) on another stack, which ends at `top`, a multiple of 16.
inline void call_on_stack(void (*function)(void*), void* argument, void* top) {
  register void* x0 asm("x0") = argument;
  register void* own asm("x19");
  asm volatile(
      "mov %0, sp\n\t"
      "mov sp, %3\n\t"
      "blr %2\n\t"
      "mov sp, %0"
      : "=&r"(own), "+r"(x0)
      : "r"(function), "r"(top)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
        "x15", "x16", "x17", "x18", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
        "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
        "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

}  // namespace corbel::arch
