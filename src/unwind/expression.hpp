// SPDX-License-Identifier: Apache-2.0
// Computes the expressions in call frame information (DWARF 5, 2.5).
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "unwind/frame_rules.hpp"
#include "unwind/stack_memory.hpp"

namespace corbel::unwind {

// The value of the expression `rule`, with `initial` on its stack (nothing if it is nullptr). False
// if it contains what never occurs in call frame information, or reads what cannot be read.
bool evaluate(const FrameRules& rules, const Rule& rule, const std::uintptr_t* initial,
              const arch::Registers& registers, StackMemory& memory, std::uintptr_t* result);

}  // namespace corbel::unwind
