// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

// The name is in the program's code page.
bool find_module(const void* address, char* path, std::size_t room, std::uintptr_t* base) {
  LastErrorGuard guard;
  HMODULE module = nullptr;
  if (!GetModuleHandleExA(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          static_cast<const char*>(address), &module)) {
    return false;
  }
  if (GetModuleFileNameA(module, path, DWORD(room)) == 0) return false;
  *base = reinterpret_cast<std::uintptr_t>(module);
  return true;
}

}  // namespace corbel::os
