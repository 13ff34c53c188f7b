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
__attribute__((noinline)) inline void forget_calls() {
  volatile char old[16384];
  memset(const_cast<char*>(old), 0, sizeof old);
  asm volatile("" : : "r"(old) : "memory");
}
