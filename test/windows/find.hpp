// SPDX-License-Identifier: Apache-2.0
// A function that a library exports, by its name.
#pragma once

#include <windows.h>

// nullptr if there is none.
template <class Function>
Function* find(HMODULE module, const char* name) {
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(GetProcAddress(module, name)));
}
