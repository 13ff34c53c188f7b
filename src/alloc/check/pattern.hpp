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
// a redzone that is copied elsewhere is no redzone there. Each byte is between 0x80 and 0xfe: what
// programs write most, zeros, small numbers, text and -1, always changes it.
void fill_canary(char* begin, char* end);

// The first byte in [begin, end) that is not the canary's; `end` if there is none.
char* find_changed_canary(char* begin, char* end);

// The first byte in [begin, end) that is not kFreedByte; `end` if there is none.
char* find_changed_freed(char* begin, char* end);

}  // namespace corbel::alloc
