// SPDX-License-Identifier: Apache-2.0
// The system's header, and what its functions share.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // libstdc++ has done so
#define NOMINMAX
#endif
#include <windows.h>

#include <cstddef>

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

// Writes the text in UTF-8, without a zero, as far as it fits, and returns how much that is.
inline std::size_t to_utf8(const wchar_t* text, std::size_t length, char* bytes, std::size_t room) {
  int count = int(length < room ? length : room);
  int written = 0;
  for (; count > 0 && written == 0; --count) {
    written = WideCharToMultiByte(CP_UTF8, 0, text, count, bytes, int(room), nullptr, nullptr);
  }
  return std::size_t(written);
}

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
