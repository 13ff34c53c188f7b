// SPDX-License-Identifier: Apache-2.0
// Two libraries are made of this file. They differ in the size of the function's frame alone, so
// that the second may be loaded exactly where the first one was.
void through_library(void (*call)(void)) {
  char memory[FRAME_SIZE];
  asm volatile("" : : "r"(memory) : "memory");
  call();
  asm volatile("" : : "r"(memory) : "memory");
}
