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

}  // namespace corbel::arch
