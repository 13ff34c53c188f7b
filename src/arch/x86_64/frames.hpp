// SPDX-License-Identifier: Apache-2.0
// What a walk over a call stack needs to know of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::arch {

// The registers, by the numbers that unwind tables use (System V ABI, AMD64 supplement, 3.6.2). The
// tables treat the return address as a register, kReturnColumn.
inline constexpr unsigned kFrameRegister = 6;  // rbp
inline constexpr unsigned kStackRegister = 7;  // rsp
inline constexpr unsigned kReturnColumn = 16;
inline constexpr unsigned kRegisters = 17;
// A call pushes the return address.
inline constexpr bool kReturnsByLinkRegister = false;

struct Registers {
  std::uintptr_t at[kRegisters];
  std::uintptr_t pc;
};

// The registers as they are where this is inlined; only those that a call preserves.
__attribute__((always_inline)) inline void read_registers(Registers* registers) {
  asm volatile(
      "movq %%rbx, 24(%1)\n\t"
      "movq %%rbp, 48(%1)\n\t"
      "movq %%rsp, 56(%1)\n\t"
      "movq %%r12, 96(%1)\n\t"
      "movq %%r13, 104(%1)\n\t"
      "movq %%r14, 112(%1)\n\t"
      "movq %%r15, 120(%1)\n\t"
      "leaq 0(%%rip), %0"
      : "=&r"(registers->pc)
      : "r"(registers->at)
      : "memory");
}

// A word of memory that another function may write, or that belongs to its frame: sanitizers must
// not see it.
inline std::uintptr_t load_word(std::uintptr_t address) {
  std::uintptr_t value;
  asm volatile("movq (%1), %0" : "=r"(value) : "r"(address));
  return value;
}

// An address of the calling thread's control block. In the C libraries that Corbel runs on, it lies
// above the thread's stack, in the same mapping, except in the main thread. On Windows it lies
// elsewhere.
inline std::uintptr_t thread_pointer() {
  std::uintptr_t value;
#if defined(_WIN32)
  asm("movq %%gs:0x30, %0" : "=r"(value));
#else
  asm("movq %%fs:0, %0" : "=r"(value));
#endif
  return value;
}

// Thread-local variables of libraries that are there from the start lie below the thread pointer.
inline constexpr bool kThreadVariablesLieBelow = true;

// Prepares `area` to be the thread pointer of a new thread: code expects a pointer to itself there
// (System V ABI, AMD64 supplement), and glibc one more, and the secrets of this process that guard
// stacks and pointers.
inline void make_thread_area(void* area) {
  auto* const words = static_cast<void**>(area);
  auto* const own = reinterpret_cast<void**>(thread_pointer());
  words[0] = words[2] = area;
  words[5] = own[5];
  words[6] = own[6];
}

// The return address without a signature of the processor in it.
inline std::uintptr_t without_signature(std::uintptr_t address) { return address; }

}  // namespace corbel::arch
