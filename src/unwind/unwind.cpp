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

unsigned walk(const ReturnPlace& place, const FrameList& empty) {
  FrameList list = empty;
  if (!walk_fast({place.address, place.stack, place.frame, 0}, &list)) {
    list = empty;
    walk_all_from(place.stack, &list);
  }
  return list.count();
}

}  // namespace

__attribute__((noinline)) unsigned capture(void** frames, unsigned max, unsigned skip) {
  if (max == 0) return 0;
  const ReturnPlace place = own_return_place();
  return walk(place, FrameList(frames, max, skip));
}

unsigned capture_at(const ReturnPlace& place, void** frames, unsigned max,
                    bool (*is_left_out)(const void* frame)) {
  return max == 0 ? 0 : walk(place, FrameList(frames, max, is_left_out));
}

unsigned capture_from(const void* context, void** frames, unsigned max) {
  if (max == 0) return 0;
  const arch::Registers registers = registers_of(context);
  const Place place{registers.pc, registers.at[arch::kStackRegister],
                    registers.at[arch::kFrameRegister],
                    arch::kReturnsByLinkRegister ? registers.at[arch::kReturnColumn] : 0};
  FrameList list(frames, max, 0U);
  if (!walk_fast(place, &list)) {
    list = FrameList(frames, max, 0U);
    walk_all(registers, &list);
  }
  return list.count();
}

}  // namespace corbel::unwind
