// SPDX-License-Identifier: Apache-2.0
// The code of the program and its DLLs.
#include <algorithm>

#include "os/os.hpp"
#include "os/windows/api.hpp"
// After windows.h.
#include <psapi.h>

namespace corbel::os {

namespace {

constexpr unsigned kMaxModules = 512;

// The section that the code begins in, as its header tells; false if the module has gone.
bool read_code(std::uintptr_t base, Mapping* mapping) {
  IMAGE_DOS_HEADER dos;
  if (!copy_memory(&dos, base, sizeof dos) || dos.e_magic != IMAGE_DOS_SIGNATURE) return false;
  const std::uintptr_t at = base + std::uintptr_t(dos.e_lfanew);
  IMAGE_NT_HEADERS64 header;
  if (!copy_memory(&header, at, sizeof header)) return false;
  const DWORD code = header.OptionalHeader.BaseOfCode;
  std::uintptr_t place =
      at + offsetof(IMAGE_NT_HEADERS64, OptionalHeader) + header.FileHeader.SizeOfOptionalHeader;
  for (unsigned i = 0; i < header.FileHeader.NumberOfSections; ++i) {
    IMAGE_SECTION_HEADER section;
    if (!copy_memory(&section, place, sizeof section)) return false;
    if (section.VirtualAddress == code) {
      *mapping = {
          base + code, base + code + section.Misc.VirtualSize, section.PointerToRawData, true, true,
          nullptr};
      return true;
    }
    place += sizeof section;
  }
  return false;
}

}  // namespace

// Only the code: that is what is asked for.
bool for_each_mapping(bool (*each)(const Mapping&, void*), void* argument) {
  LastErrorGuard guard;
  HMODULE modules[kMaxModules];
  DWORD size = 0;
  if (!K32EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &size)) return false;
  const unsigned count = std::min<unsigned>(size / sizeof modules[0], kMaxModules);
  std::sort(modules, modules + count);
  for (unsigned i = 0; i < count; ++i) {
    Mapping mapping;
    if (!read_code(reinterpret_cast<std::uintptr_t>(modules[i]), &mapping)) continue;
    wchar_t wide[MAX_PATH];
    char path[3 * MAX_PATH];  // each character of UTF-16 is at most three of UTF-8
    const DWORD length = GetModuleFileNameW(modules[i], wide, MAX_PATH);
    const int bytes =
        WideCharToMultiByte(CP_UTF8, 0, wide, int(length), path, sizeof path - 1, nullptr, nullptr);
    path[bytes] = '\0';
    mapping.path = path;
    if (!each(mapping, argument)) break;
  }
  return true;
}

}  // namespace corbel::os
