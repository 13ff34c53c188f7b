// SPDX-License-Identifier: Apache-2.0
// Functions of the system that its import libraries lack, or that Wine alone has.
#pragma once

#include <windows.h>

namespace corbel::cli {

// nullptr if the system has no such function.
template <typename Function>
Function* ntdll_function(const char* name) {
  return reinterpret_cast<Function*>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name)));
}

}  // namespace corbel::cli
