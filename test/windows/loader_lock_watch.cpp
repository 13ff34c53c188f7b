// SPDX-License-Identifier: Apache-2.0
// Loaded with a program that contains the replacement: sees from within what that changes in other
// libraries before main, and whether no thread can load or unload one meanwhile. With
// REFUSE_THREADS the system refuses to list the program's threads.
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

using NextThread = LONG NTAPI(HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE*);
LONG NTAPI refuse_threads(HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE*) {
  return LONG(0xc0000022);  // STATUS_ACCESS_DENIED
}

bool hook_threads() {
  wchar_t text[2];
  if (GetEnvironmentVariableW(L"REFUSE_THREADS", text, 2) == 0) return true;
  auto* const next = reinterpret_cast<NextThread*>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "NtGetNextThread")));
  return hook_import(GetModuleHandleW(nullptr), next, refuse_threads);
}

}  // namespace

extern "C" {
__declspec(dllexport) int watched_changes() { return changes; }
__declspec(dllexport) int watched_unlocked_changes() { return unlocked_changes; }

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void*) {
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  const bool is_watched = hook_import(GetModuleHandleW(nullptr), VirtualProtect, watch);
  return is_watched && hook_threads() ? TRUE : FALSE;
}
}
