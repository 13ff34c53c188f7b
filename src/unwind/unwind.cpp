// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind.hpp"

#include <cstring>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "unwind/walk.hpp"

namespace corbel::unwind {

namespace {

arch::Registers registers_of(const void* context) {
  arch::Registers registers{};
  const auto load = [context](int offset) {
    return arch::load_word(reinterpret_cast<std::uintptr_t>(context) + std::uintptr_t(offset));
  };
  for (unsigned i = 0; i < arch::kRegisters; ++i) registers.at[i] = load(os::context_offset(i));
  // As a return address.
  registers.pc = load(os::context_offset_of_pc()) + 1;
  return registers;
}

}  // namespace

__attribute__((noinline)) unsigned capture(void** frames, unsigned max, unsigned skip) {
  if (max == 0) return 0;
  const auto own_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto callers_stack = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
  const Place caller{reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), callers_stack,
                     arch::load_word(own_frame), 0};
  FrameList list(frames, max, skip);
  if (!walk_fast(caller, &list)) {
    list = FrameList(frames, max, skip);
    walk_all_from(callers_stack, &list);
  }
  return list.count();
}

unsigned capture_from(const void* context, void** frames, unsigned max) {
  if (max == 0) return 0;
  const arch::Registers registers = registers_of(context);
  const Place place{registers.pc, registers.at[arch::kStackRegister],
                    registers.at[arch::kFrameRegister],
                    arch::kReturnsByLinkRegister ? registers.at[arch::kReturnColumn] : 0};
  FrameList list(frames, max, 0);
  if (!walk_fast(place, &list)) {
    list = FrameList(frames, max, 0);
    walk_all(registers, &list);
  }
  return list.count();
}

}  // namespace corbel::unwind
