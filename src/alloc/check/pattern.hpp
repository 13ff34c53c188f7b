// SPDX-License-Identifier: Apache-2.0
// What redzones and memory without a content are filled with, and finding what has been changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// The content of new memory, and of freed memory: as a pointer, an address that faults.
inline constexpr unsigned char kFreshByte = 0xcb;
inline constexpr unsigned char kFreedByte = 0xdb;

// Chooses the value of the canaries: at random, anew in each process.
void choose_canary();

// Fills [begin, end) with the canary. The value of a byte depends on its address, so that a part of
// a redzone that is copied elsewhere is no redzone there. No byte is 0: that is what an overflow by
// one byte mostly writes.
void fill_canary(char* begin, char* end);

// The first byte in [begin, end) that is not the canary's; `end` if there is none.
char* find_changed_canary(char* begin, char* end);

// The first byte in [begin, end) that is not kFreedByte; `end` if there is none.
char* find_changed_freed(char* begin, char* end);

}  // namespace corbel::alloc
