// SPDX-License-Identifier: Apache-2.0
// Reads of stacks that never fault, whatever the address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/arch.hpp"

namespace corbel::unwind {

class StackMemory {
 public:
  // For a walk whose innermost frame is at `stack_pointer`.
  explicit StackMemory(std::uintptr_t stack_pointer) { use_stack_of(stack_pointer); }

  // The walk goes on at a stack pointer that may be on another stack, as before a signal.
  void use_stack_of(std::uintptr_t stack_pointer);

  // Reads the word at the address. False if that cannot be read or is not aligned.
  __attribute__((always_inline)) bool load(std::uintptr_t address, std::uintptr_t* value) {
    constexpr std::size_t kWord = sizeof(std::uintptr_t);
    if (address % kWord != 0) return false;
    if (address - low_ >= size_ && !find_page(address)) return false;
    *value = arch::load_word(address);
    return true;
  }

 private:
  __attribute__((noinline)) bool find_page(std::uintptr_t address);

  // What is known to be readable: whole words.
  std::uintptr_t low_ = 0;
  std::size_t size_ = 0;
};

}  // namespace corbel::unwind
