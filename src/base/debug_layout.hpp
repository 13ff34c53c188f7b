// SPDX-License-Identifier: Apache-2.0
// The debug layout of a library: where its structures are and how they are laid out, for tools that
// look into a process from outside. A debugger finds the table by its name, also in a library
// without debug information, and reads it like any other memory. tools/gdb reads it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel {

// A constant: the offset of a member ("Span.tag"), a size ("Span"), or another number.
struct DebugNumber {
  char name[32];
  std::uint64_t value;
};

struct DebugAddress {
  char name[32];
  const void* address;
};

template <std::size_t kNumbers, std::size_t kAddresses>
struct DebugLayout {
  char magic[8] = "corbel1";  // goes up with every change of this structure
  std::uint32_t number_count = kNumbers;
  std::uint32_t address_count = kAddresses;
  DebugNumber numbers[kNumbers];
  DebugAddress addresses[kAddresses];
};

template <std::size_t kNumbers, std::size_t kAddresses>
constexpr DebugLayout<kNumbers, kAddresses> debug_layout_of(
    const DebugNumber (&numbers)[kNumbers], const DebugAddress (&addresses)[kAddresses]) {
  DebugLayout<kNumbers, kAddresses> layout{};
  for (std::size_t i = 0; i < kNumbers; ++i) layout.numbers[i] = numbers[i];
  for (std::size_t i = 0; i < kAddresses; ++i) layout.addresses[i] = addresses[i];
  return layout;
}

}  // namespace corbel
