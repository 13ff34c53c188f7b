// SPDX-License-Identifier: Apache-2.0
// Every function of x64 Windows that changes the stack pointer has an entry in its image's table;
// one without an entry is a leaf, whose return address is on top of the stack ("x64 exception
// handling" in Microsoft's documentation). Code that is generated at run time has tables of its
// own, which the same functions know.
#include <atomic>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

namespace {

// The library that replaces malloc, once loaded, stays. Its functions stand for those that the
// program has called, so no walk shows them.
constexpr std::uintptr_t kNotLookedFor = 1;
constinit std::atomic<std::uintptr_t> replacement_start{kNotLookedFor};
constinit std::atomic<std::uintptr_t> replacement_end{0};

bool is_replacement(std::uintptr_t return_address) {
  // (2) acquire: sees the end stored before (1)
  std::uintptr_t start = replacement_start.load(std::memory_order_acquire);
  if (start == kNotLookedFor) {
    HMODULE module = GetModuleHandleA("corbelmalloc_proxy.dll");
    if (module == nullptr) module = GetModuleHandleA("tbbmalloc_proxy.dll");
    start = reinterpret_cast<std::uintptr_t>(module);
    if (start != 0) {
      const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(start);
      const auto* const header = reinterpret_cast<const IMAGE_NT_HEADERS64*>(start + dos->e_lfanew);
      // relaxed: (1) publishes it; all threads store the same
      replacement_end.store(start + header->OptionalHeader.SizeOfImage, std::memory_order_relaxed);
    }
    // (1) release: publishes the end to (2)
    replacement_start.store(start, std::memory_order_release);
  }
  // relaxed: (2)
  return start < return_address &&
         return_address <= replacement_end.load(std::memory_order_relaxed);
}

bool is_in_stack(DWORD64 stack) {
  const auto* const block = reinterpret_cast<const NT_TIB*>(arch::thread_pointer());
  return stack % sizeof(void*) == 0 && stack >= reinterpret_cast<DWORD64>(block->StackLimit) &&
         stack + sizeof(void*) <= reinterpret_cast<DWORD64>(block->StackBase);
}

// Makes the registers those of the caller; false at the end of the stack. Only where code was
// interrupted may it be a leaf: a leaf calls nothing, so a return address without an entry is no
// address of code, and the stack above it is not known.
bool leave_frame(CONTEXT* registers, bool may_be_leaf) {
  if (!is_in_stack(registers->Rsp)) return false;
  const DWORD64 before = registers->Rsp;
  DWORD64 base = 0;
  RUNTIME_FUNCTION* const entry = RtlLookupFunctionEntry(registers->Rip, &base, nullptr);
  if (entry == nullptr) {
    if (!may_be_leaf) return false;
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
    if (!leave_frame(&registers, false)) return;  // this function itself
  }
  std::uintptr_t pc = registers.Rip + (context != nullptr ? 1 : 0);
  for (bool may_be_leaf = context != nullptr;; may_be_leaf = false) {
    if (!is_replacement(pc) && !visit(pc, registers.Rsp, argument)) return;
    if (!leave_frame(&registers, may_be_leaf)) return;
    pc = registers.Rip;
  }
}

}  // namespace corbel::os
