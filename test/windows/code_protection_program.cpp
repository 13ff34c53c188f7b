// SPDX-License-Identifier: Apache-2.0
// The rights to pages while functions are replaced. Code stays executable all the time, since other
// threads may be in it, and each page ends with the rights that it had. If the system refuses a
// change, the library's functions still know each other's blocks.
// Usage: windows_code_protection <proxy DLL> <library whose functions are replaced>
#include <windows.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "checks.hpp"
#include "hooked_import.hpp"

namespace {

constexpr DWORD kExecutable =
    PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
constexpr std::uintptr_t kPage = 4096;

DWORD rights_of(std::uintptr_t address) {
  MEMORY_BASIC_INFORMATION page{};
  VirtualQuery(reinterpret_cast<void*>(address), &page, sizeof page);
  return page.Protect;
}

std::map<std::uintptr_t, DWORD> first_rights;  // of each page that was changed
int calls = 0;
int refused_call = 0;  // 0: none

BOOL WINAPI watch(void* address, SIZE_T size, DWORD rights, DWORD* before) {
  if (++calls == refused_call) {
    SetLastError(ERROR_COMMITMENT_LIMIT);
    return FALSE;
  }
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(address) & ~(kPage - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + size;
  for (std::uintptr_t page = first; page < end; page += kPage) {
    const DWORD now = rights_of(page);
    first_rights.emplace(page, now);
    if ((now & kExecutable) != 0) check((rights & kExecutable) != 0, "code stays executable");
  }
  return VirtualProtect(address, size, rights, before);
}

template <class Function>
Function* find(HMODULE module, const char* name) {
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(GetProcAddress(module, name)));
}

// A copy of the library whose table of exports lies in a section of code.
std::string copy_with_tables_in_code(const std::string& library) {
  char path[MAX_PATH];
  GetModuleFileNameA(nullptr, path, MAX_PATH);
  const std::string folder = std::string(path).substr(0, std::string(path).rfind('\\') + 1);
  std::ifstream file(folder + library, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(bytes.data());
  auto* const header = reinterpret_cast<IMAGE_NT_HEADERS64*>(bytes.data() + dos->e_lfanew);
  const DWORD exports =
      header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress;
  IMAGE_SECTION_HEADER* const sections = IMAGE_FIRST_SECTION(header);
  for (unsigned i = 0; i < header->FileHeader.NumberOfSections; ++i) {
    if (exports - sections[i].VirtualAddress < sections[i].Misc.VirtualSize) {
      sections[i].Characteristics |= IMAGE_SCN_CNT_CODE | IMAGE_SCN_MEM_EXECUTE;
    }
  }
  const std::string copy = folder + "msvcr_code_" + library.substr(std::strlen("msvcr_"));
  std::ofstream(copy, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return copy;
}

// A block of one function can be given to the other.
void check_blocks(HMODULE runtime) {
  const auto releases = find<int()>(runtime, "odd_releases");
  const auto size_of =
      find<std::size_t(void*)>(GetModuleHandleA("corbelmalloc.dll"), "scalable_msize");
  int expected = releases();
  void* const looked_up = find<void*(std::size_t)>(runtime, "malloc")(10);
  if (size_of(looked_up) == 0) ++expected;
  find<void(void*)>(runtime, "free")(looked_up);
  check(releases() == expected, "a block that is looked up goes where it is from");
  void* const inner = find<void*()>(runtime, "odd_inner_malloc")();
  if (size_of(inner) == 0) ++expected;
  find<void(void*)>(runtime, "odd_inner_free")(inner);
  check(releases() == expected, "a block of the library's own calls goes where it is from");
}

void load_and_unload(const std::string& library) {
  calls = 0;
  const HMODULE runtime = LoadLibraryA(library.c_str());
  check(runtime != nullptr, "the library is there");
  if (runtime == nullptr) return;
  check_blocks(runtime);
  if (refused_call == 0) {
    check(!first_rights.empty(), "pages are changed");
    for (const auto& [page, rights] : first_rights) {
      // All but the memory for the code.
      if (rights != PAGE_READWRITE) check(rights_of(page) == rights, "a page has its rights again");
    }
  }
  first_rights.clear();
  FreeLibrary(runtime);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string library = copy_with_tables_in_code(arguments[2]);
  const HMODULE proxy = LoadLibraryA(arguments[1]);
  if (proxy == nullptr || !hook_import(proxy, VirtualProtect, watch)) return 2;
  load_and_unload(library);
  const int all_calls = calls;
  for (refused_call = 1; refused_call <= all_calls; ++refused_call) load_and_unload(library);
  DeleteFileA(library.c_str());
  return report();
}
