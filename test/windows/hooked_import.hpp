// SPDX-License-Identifier: Apache-2.0
// A function that a module imports, replaced for that module alone: what it asks of the system is
// seen, and may be refused.
#pragma once

#include <windows.h>

#include <cstddef>

// Where the module holds the address of `function`; nullptr if it imports no such function.
inline void** find_import(HMODULE module, void* function) {
  auto* const base = reinterpret_cast<char*>(module);
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(base);
  const auto* const header = reinterpret_cast<const IMAGE_NT_HEADERS64*>(base + dos->e_lfanew);
  const IMAGE_DATA_DIRECTORY& table =
      header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
  for (auto* each = reinterpret_cast<const IMAGE_IMPORT_DESCRIPTOR*>(base + table.VirtualAddress);
       each->FirstThunk != 0; ++each) {
    for (auto* word = reinterpret_cast<void**>(base + each->FirstThunk); *word != nullptr; ++word) {
      if (*word == function) return word;
    }
  }
  return nullptr;
}

// False if the module imports no such function.
template <class Function>
bool hook_import(HMODULE module, Function* function, Function* hook) {
  void** const word = find_import(module, reinterpret_cast<void*>(function));
  DWORD before;
  if (word == nullptr || !VirtualProtect(word, sizeof *word, PAGE_READWRITE, &before)) return false;
  *word = reinterpret_cast<void*>(hook);
  return VirtualProtect(word, sizeof *word, before, &before) != 0;
}
