// SPDX-License-Identifier: Apache-2.0
// Which function the program called, for the slow paths that check it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// Which family of functions a block comes from. A block must return through the same family.
enum class Origin : std::uint8_t {
  kMalloc,    // malloc, aligned_alloc, scalable_malloc and all others in C
  kNew,       // operator new
  kNewArray,  // operator new[]
  // Either operator: the program has replaced one of them, or it is not yet known whether it has.
  kNewAny,
};

// Which family of functions a block is freed by.
enum class ReleaseKind : std::uint8_t { kFree, kDelete, kDeleteArray, kDeleteAny };

// How a block is freed. Two words, so that it travels in registers.
struct Release {
  static constexpr std::size_t kNoSize = SIZE_MAX;

  std::size_t size;            // as the program says; kNoSize: it does not say
  std::size_t alignment : 56;  // as the program says; 0: the form for ordinary alignment
  std::size_t kind_bits : 8;

  static constexpr Release by(ReleaseKind kind, std::size_t size = kNoSize,
                              std::size_t alignment = 0) {
    return {size, alignment, std::uint8_t(kind)};
  }
  ReleaseKind kind() const { return ReleaseKind(kind_bits); }
};

inline constexpr Release kFreed = Release::by(ReleaseKind::kFree);

}  // namespace corbel::alloc
