// SPDX-License-Identifier: Apache-2.0
// The loads and stores of aarch64 (Arm Architecture Reference Manual for A-profile, C4.1.94).
#include "arch/memory_access.hpp"

namespace corbel::arch::aarch64 {
namespace {

constexpr std::uint32_t bits(std::uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1U << count) - 1);
}

constexpr std::int64_t signed_bits(std::uint32_t word, unsigned low, unsigned count) {
  const std::uint32_t value = bits(word, low, count);
  const std::uint32_t sign = 1U << (count - 1);
  return std::int64_t(value ^ sign) - std::int64_t(sign);
}

MemoryAccess make(std::uintptr_t address, unsigned size, bool reads, bool writes) {
  return {address, size, reads, writes};
}

// ---- one register -------------------------------------------------------------------------------

// Sets the size, and whether it is a store; false for a prefetch.
bool read_kind(std::uint32_t word, unsigned* scale, bool* is_store) {
  const unsigned size = bits(word, 30, 2);
  const unsigned operation = bits(word, 22, 2);
  if (bits(word, 26, 1) != 0) {
    *scale = (operation & 2) != 0 ? 4 : size;
    *is_store = (operation & 1) == 0;
    return true;
  }
  *scale = size;
  *is_store = operation == 0;
  return !(size == 3 && operation == 2);
}

bool is_atomic(std::uint32_t word) {
  return bits(word, 27, 3) == 7 && bits(word, 24, 3) == 0 && bits(word, 21, 1) == 1 &&
         bits(word, 10, 2) == 0;
}

std::uintptr_t index_of(std::uint32_t word, const std::uintptr_t* registers, unsigned scale) {
  const unsigned number = bits(word, 16, 5);
  const std::uintptr_t value = number == 31 ? 0 : registers[number];
  const unsigned shift = bits(word, 12, 1) != 0 ? scale : 0;
  switch (bits(word, 13, 3)) {
    case 2:  // uxtw
      return std::uintptr_t(std::uint32_t(value)) << shift;
    case 6:  // sxtw
      return std::uintptr_t(std::int64_t(std::int32_t(value))) << shift;
    default:
      return value << shift;
  }
}

bool decode_single(std::uint32_t word, std::uintptr_t base, const std::uintptr_t* registers,
                   MemoryAccess* access) {
  unsigned scale = 0;
  bool is_store = false;
  if (is_atomic(word)) {
    // LDAPR has the place of an atomic operation, but only loads.
    const bool only_loads = bits(word, 12, 4) == 12;
    *access = make(base, 1U << bits(word, 30, 2), true, !only_loads);
    return true;
  }
  if (!read_kind(word, &scale, &is_store)) return false;
  if (bits(word, 24, 2) == 1) {
    base += std::uintptr_t(bits(word, 10, 12)) << scale;
  } else if (bits(word, 21, 1) != 0) {
    if (bits(word, 10, 2) != 2) return false;
    base += index_of(word, registers, scale);
  } else if (bits(word, 10, 2) != 1) {  // else the offset is added later
    base += std::uintptr_t(signed_bits(word, 12, 9));
  }
  *access = make(base, 1U << scale, !is_store, is_store);
  return true;
}

// ---- the rest -----------------------------------------------------------------------------------

bool decode_pair(std::uint32_t word, std::uintptr_t base, MemoryAccess* access) {
  const unsigned operation = bits(word, 30, 2);
  if (operation == 3) return false;
  const bool is_vector = bits(word, 26, 1) != 0;
  const unsigned scale = is_vector ? 2 + operation : (operation & 2) != 0 ? 3 : 2;
  const bool is_load = bits(word, 22, 1) != 0;
  if (bits(word, 23, 2) != 1) {
    base += std::uintptr_t(signed_bits(word, 15, 7) * (std::int64_t(1) << scale));
  }
  *access = make(base, 2U << scale, is_load, !is_load);
  return true;
}

bool is_exclusive(std::uint32_t word) { return bits(word, 24, 6) == 8; }

bool decode_exclusive(std::uint32_t word, std::uintptr_t base, MemoryAccess* access) {
  const unsigned size = bits(word, 30, 2);
  const bool is_load = bits(word, 22, 1) != 0;
  const bool is_ordered = bits(word, 23, 1) != 0;
  if (bits(word, 21, 1) == 0) {
    *access = make(base, 1U << size, is_load, !is_load);
  } else if (is_ordered) {  // CAS
    *access = make(base, 1U << size, true, true);
  } else if (size < 2) {  // CASP
    *access = make(base, size == 0 ? 8 : 16, true, true);
  } else {
    *access = make(base, 2U << size, is_load, !is_load);
  }
  return true;
}

bool decode_structures(std::uint32_t word, std::uintptr_t base, MemoryAccess* access) {
  unsigned count;
  switch (bits(word, 12, 4)) {
    case 7:
      count = 1;
      break;
    case 8:
    case 10:
      count = 2;
      break;
    case 4:
    case 6:
      count = 3;
      break;
    case 0:
    case 2:
      count = 4;
      break;
    default:
      return false;
  }
  const bool is_load = bits(word, 22, 1) != 0;
  *access = make(base, (bits(word, 30, 1) != 0 ? 16U : 8U) * count, is_load, !is_load);
  return true;
}

// LDAPUR and STLUR.
bool decode_ordered(std::uint32_t word, std::uintptr_t base, MemoryAccess* access) {
  if (bits(word, 21, 1) != 0 || bits(word, 10, 2) != 0) return false;
  const bool is_store = bits(word, 22, 2) == 0;
  *access = make(base + std::uintptr_t(signed_bits(word, 12, 9)), 1U << bits(word, 30, 2),
                 !is_store, is_store);
  return true;
}

bool decode(std::uint32_t word, const std::uintptr_t* registers, MemoryAccess* access) {
  const std::uintptr_t base = registers[bits(word, 5, 5)];
  if (is_exclusive(word)) return decode_exclusive(word, base, access);
  if (bits(word, 27, 3) == 5 && bits(word, 25, 1) == 0) return decode_pair(word, base, access);
  if (bits(word, 27, 3) == 7 && bits(word, 25, 1) == 0) {
    return decode_single(word, base, registers, access);
  }
  if (bits(word, 31, 1) == 0 && bits(word, 24, 6) == 0x0c && bits(word, 21, 1) == 0) {
    return decode_structures(word, base, access);
  }
  if (bits(word, 24, 6) == 0x19) return decode_ordered(word, base, access);
  return false;
}

std::uint32_t word_at(const unsigned char* code) {
  return std::uint32_t(code[0]) | std::uint32_t(code[1]) << 8 | std::uint32_t(code[2]) << 16 |
         std::uint32_t(code[3]) << 24;
}

}  // namespace

bool decode_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access) {
  return code.after >= 4 && decode(word_at(code.at), registers, access);
}

bool find_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access) {
  if (decode_access(code, registers, access)) return true;
  if (code.before < 4) return false;
  const std::uint32_t before = word_at(code.at - 4);
  return (is_atomic(before) || is_exclusive(before)) && decode(before, registers, access);
}

}  // namespace corbel::arch::aarch64
