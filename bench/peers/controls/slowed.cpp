// SPDX-License-Identifier: Apache-2.0
// A known slowdown for the control experiment: a preload library before Corbel that lengthens the
// dependency chain of every allocation and every free. The lab must find it.
#include "../../lab/share/family.hpp"

static inline void entering() {}
static inline void leaving() {}

// 5 times its inverse modulo 2^64 is one, so this returns its argument, after a chain of
// multiplications that the compiler must not optimise away.
template <typename T>
static inline T on_the_way(T value) {
  auto bits = (uint64_t)value;
  for (int i = 0; i < SLOWED_ROUNDS; ++i) {
    bits *= 5;
    asm volatile("" : "+r"(bits));
    bits *= 0xCCCCCCCCCCCCCCCD;
    asm volatile("" : "+r"(bits));
  }
  return (T)bits;
}
