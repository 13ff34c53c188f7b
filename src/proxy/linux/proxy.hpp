// SPDX-License-Identifier: Apache-2.0
// What the files of the proxy share: macros that export a replaced symbol, and the tables of the
// replaced symbols. The tables have the addresses of this library's own definitions, even if
// another library defines the same names.
#pragma once

#include <cstddef>

#if defined(CORBEL_STATIC)
// Visible, because the linker then exports the symbol from the program if one of the program's
// libraries refers to it.
#define CORBEL_PROXY_CXX_API __attribute__((visibility("default"), weak))
#else
#define CORBEL_PROXY_CXX_API __attribute__((visibility("default")))
#endif
#define CORBEL_PROXY_API __attribute__((visibility("default")))
#define CORBEL_PROXY_HIDDEN __attribute__((visibility("hidden")))

// Defines a second, hidden name for a function of this file. The dynamic linker chooses the address
// of the first name, which may be a definition in another library. Only the assembler sees that the
// names are aliases: a compiler that knew could emit either.
#define CORBEL_PROXY_SELF(name) corbel_self_##name
#define CORBEL_PROXY_DECLARE_SELF(name) CORBEL_PROXY_HIDDEN void CORBEL_PROXY_SELF(name)();
#define CORBEL_PROXY_DEFINE_SELF(name) \
  asm(".globl corbel_self_" #name      \
      "\n"                             \
      ".hidden corbel_self_" #name     \
      "\n"                             \
      ".set corbel_self_" #name ", " #name "\n");

namespace corbel::proxy {

struct Symbol {
  const char* name;   // for the dynamic linker
  const char* label;  // for people
  const void* self;   // our definition
};

// Both tables end with a null name. kOperators is defined in new_delete.cpp, which a C program
// linked to the static library does not contain: then its address is null.
extern const Symbol kFunctions[] CORBEL_PROXY_HIDDEN;
extern const Symbol kOperators[] CORBEL_PROXY_HIDDEN __attribute__((weak));

}  // namespace corbel::proxy
