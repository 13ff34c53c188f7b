// SPDX-License-Identifier: Apache-2.0
// What the address sanitizer cannot see, told to it. Empty without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_unpoison_memory_region(const volatile void* memory, std::size_t size);
#endif

namespace corbel {

// No frame is left in the stack, whose last functions have not returned. The next mapping at its
// address must not inherit the frames' marks.
inline void asan_clear_stack([[maybe_unused]] void* stack, [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, size);
#endif
}

}  // namespace corbel
