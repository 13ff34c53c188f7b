// SPDX-License-Identifier: Apache-2.0
#include "run/windows/process_memory.hpp"

#include <winternl.h>

#include "run/windows/ntdll.hpp"

namespace corbel::cli {

bool read_memory(HANDLE process, const char* from, void* to, std::size_t size) {
  SIZE_T got = 0;
  return ReadProcessMemory(process, from, to, size, &got) != 0 && got == size;
}

bool write_memory(HANDLE process, char* to, const void* from, std::size_t size) {
  DWORD before = 0;
  if (!VirtualProtectEx(process, to, size, PAGE_READWRITE, &before)) return false;
  SIZE_T done = 0;
  const bool written = WriteProcessMemory(process, to, from, size, &done) != 0 && done == size;
  DWORD ignored = 0;
  return VirtualProtectEx(process, to, size, before, &ignored) != 0 && written;
}

char* image_of(HANDLE process) {
  const auto query =
      ntdll_function<decltype(NtQueryInformationProcess)>("NtQueryInformationProcess");
  PROCESS_BASIC_INFORMATION basic{};
  if (query == nullptr ||
      query(process, ProcessBasicInformation, &basic, sizeof basic, nullptr) < 0) {
    return nullptr;
  }
  // The field that winternl.h calls Reserved3[1].
  char* image = nullptr;
  const char* const block = reinterpret_cast<const char*>(basic.PebBaseAddress);
  return read_memory(process, block + offsetof(PEB, Reserved3) + sizeof(void*), &image,
                     sizeof image)
             ? image
             : nullptr;
}

}  // namespace corbel::cli
