// SPDX-License-Identifier: Apache-2.0
// Has a process load DLLs before it runs anything of its own.
#pragma once

#include <windows.h>

#include <cstdint>
#include <string>
#include <vector>

namespace corbel::cli {

struct AddedImport {
  // An absolute path in the ANSI code page: the loader reads the names of imports so.
  std::string dll;
  std::uint32_t ordinal = 1;  // the number of a function that the DLL exports
};

// Adds imports to the program of `process`, a 64-bit process that has been created suspended and
// has not run yet. Its loader then loads their DLLs in this order and before all others of the
// program, so that they are there before anything is allocated. Returns why that is not possible,
// in one line; empty when it is done.
std::string add_imports(HANDLE process, const std::vector<AddedImport>& added);

}  // namespace corbel::cli
