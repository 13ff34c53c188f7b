// SPDX-License-Identifier: Apache-2.0
// What the address sanitizer cannot see, told to it. Nothing happens without it.
#pragma once

#include <cstddef>

// Weak: a program may be instrumented where the library is not.
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* memory,
                                                                    std::size_t size);

namespace corbel {

// Forgets the frames in a stack whose functions have not returned and never will. What uses these
// addresses next must not inherit the frames' marks.
inline void asan_clear_stack(void* stack, std::size_t size) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(stack, size);
}

}  // namespace corbel
