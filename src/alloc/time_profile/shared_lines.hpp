// SPDX-License-Identifier: Apache-2.0
// The cache lines that the samples meet, and which threads use which of their bytes.
//
// A line is shared in vain when two threads use different bytes of it and one of them writes: each
// takes the line from the other, although neither needs what the other has written.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"

namespace corbel::alloc {

inline constexpr std::uintptr_t kLineSize = 64;

// Makes the memory. Without it, no line is found.
void reserve_lines();

// Notes an access of the thread, whose record has this number. Returns whether it is one to a line
// that another thread uses at other bytes, not at these, and that one of the two writes. Both must
// have been met there more than once within the last tenth of a second: a block that one thread
// frees and another gets is no such line. For signal handlers: waits for no other thread.
bool note_access(std::uint32_t thread, const arch::MemoryAccess& access);

// For tests: the clock, in milliseconds. os::now_ms() unless it is set.
void set_lines_clock(std::uint64_t (*clock)());

// The size of the block of Corbel's that the address lies in, as far as it is known; 0: none. For
// signal handlers.
std::uint64_t block_size_at(std::uintptr_t address);

}  // namespace corbel::alloc
