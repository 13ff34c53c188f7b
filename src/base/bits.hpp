// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes, powers of two and addresses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace corbel {

inline constexpr std::size_t kCacheLine = 64;

constexpr bool is_power_of_two(std::size_t n) { return n != 0 && (n & (n - 1)) == 0; }

// Requires: `alignment` is a power of two, and n + alignment - 1 does not overflow.
constexpr std::size_t align_up(std::size_t n, std::size_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}
constexpr std::size_t align_down(std::size_t n, std::size_t alignment) {
  return n & ~(alignment - 1);
}

constexpr std::size_t divide_up(std::size_t n, std::size_t divisor) {
  return (n + divisor - 1) / divisor;
}

// The position of the highest set bit. Requires: n is not 0.
constexpr unsigned log2_floor(std::size_t n) { return 63U - unsigned(std::countl_zero(n)); }

inline std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

inline void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace corbel
