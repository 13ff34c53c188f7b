// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): where the library that a function was
// linked into is in memory.
#pragma once

#include <cstdint>

// Defined by the linker in each library and program.
extern "C" {
#if defined(_WIN32)
extern const char __ImageBase[];
#else
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
#endif
}

namespace corbel::os {

struct OwnImage {
  std::uintptr_t start = 0;     // its first byte
  std::uintptr_t code_end = 0;  // no code lies above this
  std::uintptr_t end = 0;       // the end of its data
};

// The image of the library whose code calls this; of the program, where Corbel is linked
// statically.
__attribute__((always_inline)) inline OwnImage own_image() {
#if defined(_WIN32)
  // The header, by the layout that the format fixes (PE32+): its place, and in it the size and
  // start of the code and the size of all.
  const auto start = reinterpret_cast<std::uintptr_t>(__ImageBase);
  const auto field = [](std::uintptr_t address) {
    return *reinterpret_cast<const std::uint32_t*>(address);
  };
  const std::uintptr_t header = start + field(start + 60);
  return {start, start + field(header + 44) + field(header + 28), start + field(header + 80)};
#else
  return {reinterpret_cast<std::uintptr_t>(__ehdr_start), reinterpret_cast<std::uintptr_t>(etext),
          reinterpret_cast<std::uintptr_t>(_end)};
#endif
}

}  // namespace corbel::os
