// SPDX-License-Identifier: Apache-2.0
// Call stacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/arch.hpp"

namespace corbel::unwind {

// Both functions write return addresses, the innermost first, to frames[0] to frames[max - 1], and
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

// The stack that a signal interrupted, in its handler: `context` is the handler's third argument.
// frames[0] is the interrupted function.
unsigned capture_from(const void* context, void** frames, unsigned max);

// If the calling thread is in a call of `function`, which has at most `size` bytes of code: stores
// the registers that its caller has after the call, as far as calls keep them, and returns true.
bool find_caller_of(const void* function, std::size_t size, arch::Registers* registers);

}  // namespace corbel::unwind
