// SPDX-License-Identifier: Apache-2.0
// Frames without rules: the chain of frame pointers, and the frames of signals.
#pragma once

#include <cstdint>

#include "unwind/stack_memory.hpp"

namespace corbel::unwind {

// No code lies below.
inline constexpr std::uintptr_t kMinCodeAddress = 4096;

// What a frame pointer points to.
struct FrameRecord {
  std::uintptr_t frame;  // the caller's frame pointer
  std::uintptr_t return_address;
  bool is_plausible;  // the caller's frame pointer may be one, or says that this is the last frame
};

// Reads the record at `frame`. False if it lies below the stack pointer, or the caller's code is at
// no possible address: then `frame` is no frame pointer.
bool read_frame_record(std::uintptr_t stack, std::uintptr_t frame, StackMemory& memory,
                       FrameRecord* record);

// Whether a signal handler returns to this address.
bool is_signal_return_at(std::uintptr_t pc);

}  // namespace corbel::unwind
