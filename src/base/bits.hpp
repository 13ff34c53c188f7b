// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes, powers of two and addresses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace corbel {

inline constexpr std::size_t kCacheLine = 64;

constexpr bool is_power_of_two(std::size_t n) { return n != 0 && (n & (n - 1)) == 0; }

// `alignment` is a power of two; the caller has made sure that the sum does not overflow.
constexpr std::size_t align_up(std::size_t n, std::size_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}
constexpr std::size_t align_down(std::size_t n, std::size_t alignment) {
  return n & ~(alignment - 1);
}

constexpr std::size_t divide_up(std::size_t n, std::size_t divisor) {
  return (n + divisor - 1) / divisor;
}

// Position of the highest set bit; n is not 0.
constexpr unsigned log2_floor(std::size_t n) { return 63U - unsigned(std::countl_zero(n)); }

inline std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

inline void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace corbel
