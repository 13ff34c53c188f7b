// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

// The path is in UTF-8.
bool find_module(const void* address, char* path, std::size_t room, std::uintptr_t* base) {
  LastErrorGuard guard;
  HMODULE module = nullptr;
  if (!GetModuleHandleExW(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          static_cast<const wchar_t*>(address), &module)) {
    return false;
  }
  constexpr DWORD kRoom = 1024;
  wchar_t wide[kRoom];
  const DWORD length = GetModuleFileNameW(module, wide, kRoom);
  const std::size_t written = to_utf8(wide, length, path, room - 1);
  if (written == 0) return false;
  path[written] = '\0';
  *base = reinterpret_cast<std::uintptr_t>(module);
  return true;
}

}  // namespace corbel::os
