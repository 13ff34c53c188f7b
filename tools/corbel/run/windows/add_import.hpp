// SPDX-License-Identifier: Apache-2.0
// Has a process load a DLL before it runs anything of its own.
#pragma once

#include <windows.h>

#include <string>

namespace corbel::cli {

// Adds an import of the function with ordinal 1 of `dll` to the program of `process`, a 64-bit
// process that has been created suspended and has not run yet. Its loader then loads `dll` as the
// first of the program's DLLs, before any of them allocates memory. `dll` is an absolute path in
// the ANSI code page: the loader reads the names of imports so. Returns why that is not possible,
// in one line; empty when it is done.
std::string add_import(HANDLE process, const std::string& dll);

}  // namespace corbel::cli
