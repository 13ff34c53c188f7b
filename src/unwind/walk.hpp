// SPDX-License-Identifier: Apache-2.0
// The two ways to walk over a stack.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"

namespace corbel::unwind {

// Where a walk writes return addresses.
class FrameList {
 public:
  FrameList(void** frames, unsigned max, unsigned skip) : frames_(frames), max_(max), skip_(skip) {}
  // Without the innermost frames for which `is_left_out` is true.
  FrameList(void** frames, unsigned max, bool (*is_left_out)(const void*))
      : frames_(frames), max_(max), skip_(0), is_left_out_(is_left_out) {}

  // False when the list is full.
  bool add(std::uintptr_t return_address) {
    if (skip_ != 0) {
      --skip_;
      return true;
    }
    if (count_ == max_) return false;
    auto* const frame = reinterpret_cast<void*>(return_address);
    if (count_ == 0 && is_left_out_ != nullptr && is_left_out_(frame)) return true;
    frames_[count_++] = frame;
    return count_ != max_;
  }
  unsigned count() const { return count_; }

 private:
  void** frames_;
  unsigned max_;
  unsigned skip_;
  bool (*is_left_out_)(const void*) = nullptr;
  unsigned count_ = 0;
};

// The registers that nearly all frames need.
struct Place {
  std::uintptr_t pc;  // a return address; of an interrupted function, that of its instruction + 1
  std::uintptr_t stack;  // the stack pointer
  std::uintptr_t frame;  // the frame pointer
  // The link register, where there is one and it has not been overwritten by a call; else 0.
  std::uintptr_t link;
};

// Walks from the place on, with rows that are computed once. Adds the place's own pc, too. False if
// it met a frame that needs other registers: then the frames added so far are worth nothing.
bool walk_fast(Place place, FrameList* list);

// Walks with all registers, and remembers nothing.
void walk_all(const arch::Registers& registers, FrameList* list);

// The same for the calling thread's stack, from the function on whose stack pointer is
// `first_stack` after its call has returned.
void walk_all_from(std::uintptr_t first_stack, FrameList* list);

}  // namespace corbel::unwind
