// SPDX-License-Identifier: Apache-2.0
// The loader reads a program's imports from its memory image when the process first runs. So the
// image of a suspended process gets a longer table: new entries, then those that were there. The
// table lies in memory of its own after the image, because its entries hold 32-bit offsets from the
// image's start. Microsoft's Detours does the same ("DetourUpdateProcessWithDll").
#include "run/windows/add_import.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "run/windows/process_memory.hpp"

namespace corbel::cli {
namespace {

std::string failed(const char* what) {
  return std::string("cannot ") + what + " (error " + std::to_string(GetLastError()) + ")";
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
  for (IMAGE_IMPORT_DESCRIPTOR each; read_memory(process, next, &each, sizeof each);
       next += sizeof each) {
    if (each.Name == 0 || each.FirstThunk == 0) return true;
    list.push_back(each);
  }
  return false;
}

// What the loader wants of an import of one function: the list of what is wanted, twice (the
// address goes into the second), each with an end mark.
struct Wanted {
  std::uint64_t names[2];
  std::uint64_t addresses[2];
};

// The new table, with what its own entries refer to. `offset` is where it begins in the image.
std::vector<char> make_table(const std::vector<AddedImport>& added, Descriptors descriptors,
                             DWORD offset) {
  Descriptors table(added.size());
  table.insert(table.end(), descriptors.begin(), descriptors.end());
  table.push_back({});
  std::vector<char> content(table.size() * sizeof table[0]);
  const auto append = [&](const void* data, std::size_t size) {
    content.resize((content.size() + 7) & ~std::size_t{7});
    const std::size_t at = content.size();
    const char* bytes = static_cast<const char*>(data);
    content.insert(content.end(), bytes, bytes + size);
    return offset + DWORD(at);
  };
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::uint64_t number = IMAGE_ORDINAL_FLAG64 | added[i].ordinal;
    const Wanted wanted{{number, 0}, {number, 0}};
    const DWORD at = append(&wanted, sizeof wanted);
    table[i].OriginalFirstThunk = at + DWORD(offsetof(Wanted, names));
    table[i].FirstThunk = at + DWORD(offsetof(Wanted, addresses));
    table[i].Name = append(added[i].dll.c_str(), added[i].dll.size() + 1);
  }
  std::memcpy(content.data(), table.data(), table.size() * sizeof table[0]);
  return content;
}

}  // namespace

std::string add_imports(HANDLE process, const std::vector<AddedImport>& added) {
  char* const image = image_of(process);
  if (image == nullptr) return failed("find the program's image");
  IMAGE_DOS_HEADER dos{};
  IMAGE_NT_HEADERS64 header{};
  if (!read_memory(process, image, &dos, sizeof dos) ||
      !read_memory(process, image + dos.e_lfanew, &header, sizeof header)) {
    return failed("read the program's header");
  }
  if (header.Signature != IMAGE_NT_SIGNATURE ||
      header.OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC) {
    return "it is not a 64-bit program";
  }
  auto& directories = header.OptionalHeader.DataDirectory;
  // Where there are fewer than usual, the sections follow.
  const DWORD count = header.OptionalHeader.NumberOfRvaAndSizes;
  if (count <= IMAGE_DIRECTORY_ENTRY_IMPORT) return "its header has no place for imports";
  IMAGE_DATA_DIRECTORY& imports = directories[IMAGE_DIRECTORY_ENTRY_IMPORT];
  Descriptors descriptors;
  if (!read_imports(process, image, imports, descriptors)) {
    return failed("read the program's imports");
  }
  const std::size_t size = make_table(added, descriptors, 0).size();
  char* const place = allocate_after(process, image, header.OptionalHeader.SizeOfImage, size);
  if (place == nullptr) return failed("find room for a table after the program's image");
  const auto offset = DWORD(place - image);
  const std::vector<char> content = make_table(added, descriptors, offset);

  const std::size_t entries = added.size() + descriptors.size() + 1;
  imports = {offset, DWORD(entries * sizeof(IMAGE_IMPORT_DESCRIPTOR))};
  // Addresses that the linker has looked up in advance do not cover the new entries.
  if (count > IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT) {
    directories[IMAGE_DIRECTORY_ENTRY_BOUND_IMPORT] = {};
  }
  // A loader may want a directory of the tables that it writes to.
  if (IMAGE_DATA_DIRECTORY& written = directories[IMAGE_DIRECTORY_ENTRY_IAT];
      count > IMAGE_DIRECTORY_ENTRY_IAT && written.VirtualAddress == 0) {
    written = {offset, DWORD(size)};
  }
  SIZE_T done = 0;
  if (!WriteProcessMemory(process, place, content.data(), size, &done) ||
      !write_memory(process, image + dos.e_lfanew, &header, sizeof header)) {
    return failed("write to the program's image");
  }
  return {};
}

}  // namespace corbel::cli
