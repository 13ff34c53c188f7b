// SPDX-License-Identifier: Apache-2.0
// Every function of x64 Windows that changes the stack pointer has an entry in its image's table;
// one without an entry is a leaf, whose return address is on top of the stack ("x64 exception
// handling" in Microsoft's documentation). Code that is generated at run time has tables of its
// own, which the same functions know.
#include "arch/arch.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

namespace {

bool is_in_stack(DWORD64 stack) {
  const auto* const block = reinterpret_cast<const NT_TIB*>(arch::thread_pointer());
  return stack % sizeof(void*) == 0 && stack >= reinterpret_cast<DWORD64>(block->StackLimit) &&
         stack + sizeof(void*) <= reinterpret_cast<DWORD64>(block->StackBase);
}

// Makes the registers those of the caller; false at the end of the stack.
bool leave_frame(CONTEXT* registers) {
  if (!is_in_stack(registers->Rsp)) return false;
  const DWORD64 before = registers->Rsp;
  DWORD64 base = 0;
  RUNTIME_FUNCTION* const entry = RtlLookupFunctionEntry(registers->Rip, &base, nullptr);
  if (entry == nullptr) {
    registers->Rip = *reinterpret_cast<const DWORD64*>(registers->Rsp);
    registers->Rsp += sizeof(void*);
  } else {
    void* handler_data = nullptr;
    DWORD64 frame = 0;
    RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, registers->Rip, entry, registers, &handler_data,
                     &frame, nullptr);
  }
  // A stack that is not followed right would lead in a circle.
  return registers->Rip != 0 && registers->Rsp > before;
}

}  // namespace

__attribute__((noinline)) void walk_stack(const void* context,
                                          bool (*visit)(std::uintptr_t, std::uintptr_t, void*),
                                          void* argument) {
  LastErrorGuard guard;
  CONTEXT registers;
  if (context != nullptr) {
    registers = *static_cast<const CONTEXT*>(context);
  } else {
    RtlCaptureContext(&registers);
    if (!leave_frame(&registers)) return;  // this function itself
  }
  std::uintptr_t pc = registers.Rip + (context != nullptr ? 1 : 0);
  while (visit(pc, registers.Rsp, argument) && leave_frame(&registers)) pc = registers.Rip;
}

}  // namespace corbel::os
