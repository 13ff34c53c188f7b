// SPDX-License-Identifier: Apache-2.0
// Every call stack that the instruments have recorded, each once. An entry is never removed.
#pragma once

#include <cstdint>

#include "sync/lock.hpp"

namespace corbel::alloc {

// Names an entry. 0 stands for an unknown stack: there was no memory for the entry.
using StackId = std::uint32_t;

inline constexpr unsigned kMaxFrames = 64;

struct Stack {
  void* const* frames;  // return addresses, the innermost first
  unsigned count;
};

// Returns the entry for these frames, a new one if there is none yet.
StackId intern_stack(void* const* frames, unsigned count);

// The stack of the entry; an empty one for 0. Valid as long as the process.
Stack stack_of(StackId id);

// The entry for the calling thread's stack, without the frames of the allocator itself.
StackId capture_stack();

extern sync::Lock stacks_lock;

}  // namespace corbel::alloc
