// SPDX-License-Identifier: Apache-2.0
// Loaded with a program that contains the replacement: sees from within what that changes in other
// libraries before main, and whether no thread can load or unload one meanwhile.
#include <windows.h>
// After windows.h.
#include <winternl.h>

#include "hooked_import.hpp"

namespace {

int changes = 0;
int unlocked_changes = 0;

bool holds_loader_lock() {
  // The member LoaderLock, which winternl.h leaves out.
  const auto* const process =
      reinterpret_cast<const char*>(NtCurrentTeb()->ProcessEnvironmentBlock);
  const auto* const lock = *reinterpret_cast<CRITICAL_SECTION* const*>(process + 0x110);
  return lock->OwningThread == reinterpret_cast<HANDLE>(ULONG_PTR(GetCurrentThreadId()));
}

BOOL WINAPI watch(void* address, SIZE_T size, DWORD rights, DWORD* before) {
  const bool is_locked = holds_loader_lock();
  HMODULE module = nullptr;
  GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      static_cast<const wchar_t*>(address), &module);
  if (module != nullptr && module != GetModuleHandleW(nullptr)) {
    ++changes;
    if (!is_locked) ++unlocked_changes;
  }
  return VirtualProtect(address, size, rights, before);
}

}  // namespace

extern "C" {
__declspec(dllexport) int watched_changes() { return changes; }
__declspec(dllexport) int watched_unlocked_changes() { return unlocked_changes; }

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void*) {
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  return hook_import(GetModuleHandleW(nullptr), VirtualProtect, watch) ? TRUE : FALSE;
}
}
