// SPDX-License-Identifier: Apache-2.0
// The words of a block, as a scan reads them in the program's own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/ranges.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// A word of the program's, whatever its type is.
using ScannedWord [[gnu::may_alias]] = std::uintptr_t;

inline const ScannedWord* scanned_word(std::uintptr_t address) {
  return reinterpret_cast<const ScannedWord*>(address);
}

// Calls each(value) for the words of the block that can be read.
template <class Each>
void for_each_word(const Ranges& unreadable, std::uintptr_t block, std::size_t size, Each each) {
  // Of a larger block, only the pages that have been touched are read: reading the others would
  // make the system fill them in.
  constexpr std::size_t kTouchedOnly = std::size_t(1) << 20;
  const std::uintptr_t start = align_up(block, sizeof(ScannedWord));
  const std::uintptr_t end = align_down(block + size, sizeof(ScannedWord));
  const auto read = [&](std::uintptr_t from, std::uintptr_t to) {
    unreadable.for_each_gap(from, to, [&](std::uintptr_t a, std::uintptr_t b) {
      for (const ScannedWord* p = scanned_word(a); p < scanned_word(b); ++p) {
        each(std::uintptr_t(*p));
      }
    });
  };
  if (start >= end) return;
  if (size < kTouchedOnly) return read(start, end);
  const std::size_t page = os::page_size();
  const std::uintptr_t first = align_up(start, page), last = align_down(end, page);
  read(start, first);
  os::for_each_touched(
      first, last,
      [](void* to, std::uintptr_t a, std::uintptr_t b) {
        (*static_cast<decltype(read)*>(to))(a, b);
      },
      const_cast<void*>(static_cast<const void*>(&read)));
  read(last, end);
}

}  // namespace corbel::alloc
