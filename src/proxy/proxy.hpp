// SPDX-License-Identifier: Apache-2.0
// What the files of the proxy share: how a replaced symbol is exported, and the list of those
// symbols with the addresses that they have in this very library, whoever else defines them too.
#pragma once

#include <cstddef>

#if defined(CORBEL_STATIC)
// In a program the linker exports what the program's libraries ask for, if it is visible at all.
#define CORBEL_PROXY_CXX_API __attribute__((visibility("default"), weak))
#else
#define CORBEL_PROXY_CXX_API __attribute__((visibility("default")))
#endif
#define CORBEL_PROXY_API __attribute__((visibility("default")))
#define CORBEL_PROXY_HIDDEN __attribute__((visibility("hidden")))

// A second, hidden name for a function of this file, because the address of the first is the one
// that the dynamic linker has chosen, which may lie in another library. Told to the assembler
// alone: a compiler that knows the two for one function may write either name.
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
  const char* name;   // as the dynamic linker knows it
  const char* label;  // as a person knows it
  const void* self;   // our definition
};

// Both tables end with a null name. The second belongs to new_delete.cpp, which a C program linked
// to the static library does not contain: its address is null then.
extern const Symbol kFunctions[] CORBEL_PROXY_HIDDEN;
extern const Symbol kOperators[] CORBEL_PROXY_HIDDEN __attribute__((weak));

}  // namespace corbel::proxy
