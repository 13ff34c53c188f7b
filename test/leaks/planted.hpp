// SPDX-License-Identifier: Apache-2.0
// Shared by the programs with planted leaks. Each block has a size of its own, by which the test
// finds it in the report.
#pragma once

#include <stdlib.h>
#include <string.h>

// A block that the compiler can neither leave out nor follow.
__attribute__((noinline)) inline char* block_of(size_t size) {
  char* block = static_cast<char*>(malloc(size));
  memset(block, 0, size);
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

inline void store(void* place, const void* pointer) { memcpy(place, &pointer, sizeof pointer); }

// Overwrites what calls have left on the stack, and in the registers that calls may change.
// malloc() leaves the address of the next free block there, which another thread may get.
__attribute__((noinline)) inline void forget_calls() {
  volatile char old[16384];
  memset(const_cast<char*>(old), 0, sizeof old);
  asm volatile("" : : "r"(old) : "memory");
#if defined(__x86_64__)
  asm volatile(
      "xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi;"
      "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d;"
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15; pxor %%xmm\\n, %%xmm\\n; .endr"
      :
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15");
#endif
}
