// SPDX-License-Identifier: Apache-2.0
// The addresses of the code that a function of Corbel belongs to.
#pragma once

#include <cstdint>

// Defined by the linker in each library and program: its first byte, and the end of its code.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
}

namespace corbel::unwind {

struct CodeRange {
  std::uintptr_t low = 0, high = 0;

  // Whether `address` returns into the range.
  bool has_return(const void* address) const {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return low < a && a <= high;
  }
};

// The library whose code calls this; the program, where Corbel is linked statically.
__attribute__((always_inline)) inline CodeRange own_code() {
  return {reinterpret_cast<std::uintptr_t>(__ehdr_start), reinterpret_cast<std::uintptr_t>(etext)};
}

}  // namespace corbel::unwind
