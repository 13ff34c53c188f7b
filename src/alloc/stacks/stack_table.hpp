// SPDX-License-Identifier: Apache-2.0
// Every call stack that the instruments have recorded, each once. An entry is never removed. No
// function here takes a lock of the table, so a signal handler may interrupt any of them, and fork;
// a new entry may take the lock of the metadata.
#pragma once

#include <cstdint>

#include "alloc/map/private_api.hpp"
#include "unwind/own_code.hpp"
#include "unwind/unwind.hpp"

namespace corbel::alloc {

// Names an entry. 0 stands for an unknown stack: there was no memory for the entry.
using StackId = std::uint32_t;

inline constexpr unsigned kMaxFrames = 64;

struct Stack {
  void* const* frames;  // return addresses, the innermost first
  unsigned count;
};

// Returns the entry for these frames, a new one if there is none yet. Only the first kMaxFrames
// count. May call the system: the caller holds no lock under which it must not.
StackId intern_stack(void* const* frames, unsigned count);

// The same for a signal handler, which may have interrupted any part of the allocator: takes no
// lock. Returns 0 also if the memory that reserve_stacks() has made is used up.
StackId intern_stack_in_handler(void* const* frames, unsigned count);

// Makes memory for some thousand stacks. Not for a signal handler.
void reserve_stacks();

// The stack of the entry; an empty one for 0. Valid as long as the process.
Stack stack_of(StackId id);

// The entry for the calling thread's stack, without the allocator's own innermost frames. These are
// the frames in hidden code. `caller`, if it is not nullptr, is the return address of the function
// that the program called: the frames inside that one are left out, too. That is how a program that
// links the allocator statically, which has no hidden code, tells its own frames.
// Records at most `max` frames.
StackId capture_stack(const void* caller = nullptr, unsigned max = kMaxFrames);

// The same from the place on to which a function of the allocator will return that the program
// called, perhaps by others. Takes less time: frames inside that function are not looked at.
StackId capture_stack_at(const unwind::ReturnPlace& place, unsigned max);

// Whether a return address lies in hidden code.
bool is_hidden_code(const void* frame);

// Adds to the hidden code: the libraries that contain the allocator or its callers' entry points.
// The library with this function is hidden from the beginning. Has no effect for a ninth range.
CORBEL_PRIVATE_API void hide_code(unwind::CodeRange code);

}  // namespace corbel::alloc
