// SPDX-License-Identifier: Apache-2.0
// The loader reads a program's imports from its memory image when the process first runs. So the
// image of a suspended process gets a longer table: a new entry, then those that were there. The
// table lies in memory of its own after the image, because its entries hold 32-bit offsets from the
// image's start. Microsoft's Detours does the same ("DetourUpdateProcessWithDll").
#include "run/windows/add_import.hpp"

#include <winternl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace corbel::cli {
namespace {

std::string failed(const char* what) {
  return std::string("cannot ") + what + " (error " + std::to_string(GetLastError()) + ")";
}

bool read(HANDLE process, const char* from, void* to, std::size_t size) {
  SIZE_T got = 0;
  return ReadProcessMemory(process, from, to, size, &got) != 0 && got == size;
}

bool write(HANDLE process, char* to, const void* from, std::size_t size) {
  DWORD before = 0;
  if (!VirtualProtectEx(process, to, size, PAGE_READWRITE, &before)) return false;
  SIZE_T done = 0;
  const bool written = WriteProcessMemory(process, to, from, size, &done) != 0 && done == size;
  DWORD ignored = 0;
  return VirtualProtectEx(process, to, size, before, &ignored) != 0 && written;
}

// Where the program's image lies; nullptr if the system does not tell.
char* image_of(HANDLE process) {
  const auto query = reinterpret_cast<decltype(&NtQueryInformationProcess)>(reinterpret_cast<void*>(
      GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "NtQueryInformationProcess")));
  PROCESS_BASIC_INFORMATION basic{};
  if (query == nullptr ||
      query(process, ProcessBasicInformation, &basic, sizeof basic, nullptr) < 0) {
    return nullptr;
  }
  // The field that winternl.h calls Reserved3[1].
  char* image = nullptr;
  const char* const block = reinterpret_cast<const char*>(basic.PebBaseAddress);
  return read(process, block + offsetof(PEB, Reserved3) + sizeof(void*), &image, sizeof image)
             ? image
             : nullptr;
}

// Memory for `size` bytes whose 32-bit offset from `image` is a positive number, too, for whatever
// reads it as a signed one.
char* allocate_after(HANDLE process, char* image, std::size_t image_size, std::size_t size) {
  constexpr std::uintptr_t kGranularity = 0x10000;
  const auto start = reinterpret_cast<std::uintptr_t>(image);
  const std::uintptr_t end = start + 0x7fff0000;
  for (std::uintptr_t at = start + image_size; at < end;) {
    MEMORY_BASIC_INFORMATION area{};
    if (VirtualQueryEx(process, reinterpret_cast<void*>(at), &area, sizeof area) == 0) break;
    const std::uintptr_t area_end =
        reinterpret_cast<std::uintptr_t>(area.BaseAddress) + area.RegionSize;
    const std::uintptr_t place = (at + kGranularity - 1) & ~(kGranularity - 1);
    if (area.State == MEM_FREE && place < end && place + size <= area_end) {
      void* const made = VirtualAllocEx(process, reinterpret_cast<void*>(place), size,
                                        MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
      if (made != nullptr) return static_cast<char*>(made);
    }
    at = area_end;
  }
  return nullptr;
}

using Descriptors = std::vector<IMAGE_IMPORT_DESCRIPTOR>;

// The size of a directory that its header states is not to be relied on, so this reads up to the
// end mark.
bool read_imports(HANDLE process, const char* image, const IMAGE_DATA_DIRECTORY& directory,
                  Descriptors& list) {
  if (directory.VirtualAddress == 0) return true;
  const char* next = image + directory.VirtualAddress;
  for (IMAGE_IMPORT_DESCRIPTOR each; read(process, next, &each, sizeof each); next += sizeof each) {
    if (each.Name == 0 || each.FirstThunk == 0) return true;
    list.push_back(each);
  }
  return false;
}

}  // namespace

std::string add_import(HANDLE process, const std::string& dll) {
  char* const image = image_of(process);
  if (image == nullptr) return failed("find the program's image");
  IMAGE_DOS_HEADER dos{};
  IMAGE_NT_HEADERS64 header{};
  if (!read(process, image, &dos, sizeof dos) ||
      !read(process, image + dos.e_lfanew, &header, sizeof header)) {
    return failed("read the program's header");
  }
  if (header.Signature != IMAGE_NT_SIGNATURE ||
      header.OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC) {
    return "it is not a 64-bit program";
  }
  auto& directories = header.OptionalHeader.DataDirectory;
  IMAGE_DATA_DIRECTORY& imports = directories[IMAGE_DIRECTORY_ENTRY_IMPORT];
  Descriptors descriptors(1);
  if (!read_imports(process, image, imports, descriptors)) {
    return failed("read the program's imports");
  }
  descriptors.push_back({});
  const std::size_t table_size = descriptors.size() * sizeof descriptors[0];

  // After the table: the list of what to import, twice (the loader puts the address into the
  // second), and the name of the DLL.
  struct Names {
    std::uint64_t wanted[2];
    std::uint64_t found[2];
  };
  constexpr std::uint64_t kFirst = IMAGE_ORDINAL_FLAG64 | 1;
  const Names names{{kFirst, 0}, {kFirst, 0}};
  const std::size_t names_at = (table_size + 7) & ~std::size_t{7};
  const std::size_t dll_at = names_at + sizeof names;
  std::vector<char> content(dll_at + dll.size() + 1);
  char* const place =
      allocate_after(process, image, header.OptionalHeader.SizeOfImage, content.size());
  if (place == nullptr) return failed("find room for a table after the program's image");
  const auto offset = DWORD(place - image);
  descriptors[0].OriginalFirstThunk = offset + DWORD(names_at + offsetof(Names, wanted));
  descriptors[0].FirstThunk = offset + DWORD(names_at + offsetof(Names, found));
  descriptors[0].Name = offset + DWORD(dll_at);
  std::memcpy(content.data(), descriptors.data(), table_size);
  std::memcpy(content.data() + names_at, &names, sizeof names);
  std::memcpy(content.data() + dll_at, dll.c_str(), dll.size() + 1);

  imports = {offset, DWORD(table_size)};
  // Addresses that the linker has looked up in advance do not cover the new entry.
  directories[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT] = {};
  // A loader may want a directory of the tables that it writes to.
  IMAGE_DATA_DIRECTORY& written = directories[IMAGE_DIRECTORY_ENTRY_IAT];
  if (written.VirtualAddress == 0) written = {offset, DWORD(content.size())};
  SIZE_T done = 0;
  if (!WriteProcessMemory(process, place, content.data(), content.size(), &done) ||
      !write(process, image + dos.e_lfanew, &header, sizeof header)) {
    return failed("write to the program's image");
  }
  return {};
}

}  // namespace corbel::cli
