// SPDX-License-Identifier: Apache-2.0
// The system's header, and what its functions share.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // libstdc++ has done so
#define NOMINMAX
#endif
#include <windows.h>

namespace corbel::os {

// The functions of the contract leave the calling thread's last error, which the program may be
// about to read, as it was.
class LastErrorGuard {
 public:
  LastErrorGuard() : error_(GetLastError()) {}
  ~LastErrorGuard() { SetLastError(error_); }
  LastErrorGuard(const LastErrorGuard&) = delete;
  LastErrorGuard& operator=(const LastErrorGuard&) = delete;

 private:
  const DWORD error_;
};

// A function that older systems, or Wine, lack; nullptr if this one does.
template <class Function>
Function* find_function(const char* library, const char* name) {
  LastErrorGuard guard;
  const HMODULE module = GetModuleHandleA(library);
  return module == nullptr
             ? nullptr
             : reinterpret_cast<Function*>(reinterpret_cast<void*>(GetProcAddress(module, name)));
}

}  // namespace corbel::os
