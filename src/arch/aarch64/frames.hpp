// SPDX-License-Identifier: Apache-2.0
// What a walk over a call stack needs to know of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::arch {

// The registers, by the numbers that unwind tables use (DWARF for the Arm 64-bit Architecture,
// 4.1). The column of the return address is the link register's.
inline constexpr unsigned kFrameRegister = 29;
inline constexpr unsigned kStackRegister = 31;
inline constexpr unsigned kReturnColumn = 30;
inline constexpr unsigned kRegisters = 32;
// A call leaves the return address in a register.
inline constexpr bool kReturnsByLinkRegister = true;

struct Registers {
  std::uintptr_t at[kRegisters];
  std::uintptr_t pc;
};

// The registers as they are where this is inlined; only those that a call preserves.
__attribute__((always_inline)) inline void read_registers(Registers* registers) {
  asm volatile(
      "stp x19, x20, [%1, #152]\n\t"
      "stp x21, x22, [%1, #168]\n\t"
      "stp x23, x24, [%1, #184]\n\t"
      "stp x25, x26, [%1, #200]\n\t"
      "stp x27, x28, [%1, #216]\n\t"
      "stp x29, x30, [%1, #232]\n\t"
      "mov %0, sp\n\t"
      "str %0, [%1, #248]\n\t"
      "adr %0, ."
      : "=&r"(registers->pc)
      : "r"(registers->at)
      : "memory");
}

// A word of memory that another function may write, or that belongs to its frame: sanitizers must
// not see it.
inline std::uintptr_t load_word(std::uintptr_t address) {
  std::uintptr_t value;
  asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(address));
  return value;
}

// An address of the calling thread's control block. In the C libraries that Corbel runs on, it lies
// above the thread's stack, in the same mapping, except in the main thread.
inline std::uintptr_t thread_pointer() {
  std::uintptr_t value;
  asm("mrs %0, tpidr_el0" : "=r"(value));
  return value;
}

// Thread-local variables of libraries that are there from the start lie above the thread pointer.
inline constexpr bool kThreadVariablesLieBelow = false;

// Prepares `area` to be the thread pointer of a new thread: zeros will do.
inline void make_thread_area(void*) {}

// The return address without a signature of the processor in it (xpaclri, which does nothing on a
// processor that signs no addresses).
inline std::uintptr_t without_signature(std::uintptr_t address) {
  register std::uintptr_t x30 asm("x30") = address;
  asm("hint #7" : "+r"(x30));
  return x30;
}

}  // namespace corbel::arch
