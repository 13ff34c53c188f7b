// SPDX-License-Identifier: Apache-2.0
// Shared by the programs with planted leaks. Each block has a size of its own, by which the test
// finds it in the report.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A block that the compiler can neither leave out nor follow. Not one in the first 64 KiB after a
// multiple of 4 GiB: a small number that overwrote the lower half of an old pointer would lead
// there.
static __attribute__((noinline)) char* block_of(size_t size) {
  char* block = (char*)malloc(size);
  if (block != NULL && (uintptr_t)block % (1ULL << 32) < (64 << 10)) {
    char* const other = block_of(size);
    free(block);
    return other;
  }
  memset(block, 0, size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

static inline void store(void* place, const void* pointer) {
  memcpy(place, &pointer, sizeof pointer);
}

// Overwrites what calls have left on the stack, and in the registers that calls may change.
// malloc() leaves the address of the next free block there, which another thread may get.
static __attribute__((noinline)) void forget_calls(void) {
  volatile char old[16384];
  memset((char*)old, 0, sizeof old);
  __asm__ volatile("" : : "r"(old) : "memory");
#if defined(__x86_64__)
  __asm__ volatile(
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
