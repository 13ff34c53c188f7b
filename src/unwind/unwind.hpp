// SPDX-License-Identifier: Apache-2.0
// Call stacks.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "unwind/own_code.hpp"

namespace corbel::unwind {

// These functions write return addresses, the innermost first, to frames[0] to frames[max - 1], and
// return their number. A return address is the address after the call. For a function that a signal
// interrupted, it is the address of the interrupted instruction plus 1. So for each of them, the
// address minus 1 is in the instruction that the function is at.
//
// They may be called inside malloc and in signal handlers: they allocate nothing, take no lock and
// change errno not. They read no address that cannot be read, whatever is on the stack. A stack
// that they cannot follow ends there.

// The calling thread's stack, without the `skip` innermost functions. The innermost is the caller
// of capture().
unsigned capture(void** frames, unsigned max, unsigned skip);

// Where a function that is running will return to.
struct ReturnPlace {
  std::uintptr_t address;
  std::uintptr_t stack;  // the stack pointer then
  std::uintptr_t frame;  // the frame pointer then
};

// That of the function which calls this one. Requires: that function is not inlined.
__attribute__((always_inline)) inline ReturnPlace own_return_place() {
  return {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
          reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()),
          arch::load_word(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))};
}

// The calling thread's stack from that place on, without the innermost frames for which
// `is_left_out` is true. The time depends on the frames that remain alone.
unsigned capture_at(const ReturnPlace& place, void** frames, unsigned max,
                    bool (*is_left_out)(const void* frame));

// The stack that a signal interrupted, in its handler: `context` is the handler's third argument.
// frames[0] is the interrupted function.
unsigned capture_from(const void* context, void** frames, unsigned max);

// Both find the innermost frame of the calling thread whose return address lies in `code`, and
// store its registers, or those of its caller: as they are after the call has returned, if calls
// preserve them. False if there is no such frame.
bool find_frame(CodeRange code, arch::Registers* registers);
bool find_caller(CodeRange code, arch::Registers* registers);

}  // namespace corbel::unwind
