// SPDX-License-Identifier: Apache-2.0
// The rights to pages while functions are replaced. Code stays executable all the time, since other
// threads may be in it, and each page ends with the rights that it had. If the system refuses a
// change, the library's functions still know each other's blocks.
// Usage: windows_code_protection <proxy DLL> free|malloc
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
#include "find.hpp"
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
  const std::string copy = folder + "msvcr_code_" + library.substr(std::strlen("msvcr0_"));
  std::ofstream(copy, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return copy;
}

using Malloc = void*(std::size_t);
using Realloc = void*(void*, std::size_t);
using Recalloc = void*(void*, std::size_t, std::size_t);
using Free = void(void*);

// Another library's imports of a function, at the address that the library has had before.
struct Import {
  const char* name;
  void* function;
  void** word;
};
Import imports[] = {
    {"malloc", nullptr, nullptr}, {"realloc", nullptr, nullptr}, {"free", nullptr, nullptr}};

void* place;  // where the library is loaded each time

void set_import(const Import& import) {
  DWORD before;
  VirtualProtect(import.word, sizeof *import.word, PAGE_READWRITE, &before);
  *import.word = import.function;
  VirtualProtect(import.word, sizeof *import.word, before, &before);
}

// A block of one function can be given to the others.
class Blocks {
 public:
  explicit Blocks(HMODULE runtime) : releases_(find<int()>(runtime, "odd_releases")) {}

  // `take` is given the block, and must give it back where it is from.
  template <class Take>
  void expect_home(void* block, Take take, const char* what) {
    const int expected = releases_() + (is_ours(block) ? 0 : 1);
    take(block);
    check(releases_() == expected, what);
  }

 private:
  static bool is_ours(void* block) {
    static const auto size_of =
        find<std::size_t(void*)>(GetModuleHandleA("corbelmalloc.dll"), "scalable_msize");
    return size_of(block) != 0;
  }

  int (*const releases_)();
};

void check_blocks(HMODULE runtime) {
  Blocks blocks(runtime);
  Malloc* const malloc = find<Malloc>(runtime, "malloc");
  Realloc* const realloc = find<Realloc>(runtime, "realloc");
  Recalloc* const recalloc = find<Recalloc>(runtime, "_recalloc");
  Free* const free = find<Free>(runtime, "free");
  blocks.expect_home(malloc(10), free, "a block that is looked up");
  blocks.expect_home(find<void*()>(runtime, "odd_inner_malloc")(),
                     find<Free>(runtime, "odd_inner_free"), "a block of the library's own calls");
  const auto malloc_dbg = find<void*(std::size_t, int, const char*, int)>(runtime, "_malloc_dbg");
  const auto free_dbg = find<void(void*, int)>(runtime, "_free_dbg");
  blocks.expect_home(
      malloc_dbg(10, 0, nullptr, 0), [&](void* block) { free_dbg(block, 0); }, "a debug block");
  void* grown = nullptr;
  const auto enlarge = [&](void* block) { grown = realloc(block, 20); };
  const auto enlarge_zeroed = [&](void* block) { grown = recalloc(block, 1, 20); };
  blocks.expect_home(malloc(10), enlarge, "a block of malloc that realloc moves");
  blocks.expect_home(grown, free, "what realloc gives");
  blocks.expect_home(realloc(nullptr, 10), enlarge_zeroed, "a block that only realloc has given");
  blocks.expect_home(recalloc(nullptr, 1, 10), enlarge, "a block that only _recalloc has given");

  const auto imported_realloc = reinterpret_cast<Realloc*>(*imports[1].word);
  blocks.expect_home(reinterpret_cast<Malloc*>(*imports[0].word)(10),
                     reinterpret_cast<Free*>(*imports[2].word), "an imported block");
  blocks.expect_home(imported_realloc(nullptr, 10), enlarge, "a block of an imported realloc");
  blocks.expect_home(
      realloc(nullptr, 10), [&](void* block) { grown = imported_realloc(block, 20); },
      "a block for an imported realloc");
}

// Nothing is said to be refused because of another function of its family: all of that can be
// moved.
void check_log(const std::string& library) {
  const HMODULE proxy = GetModuleHandleA("corbelmalloc_proxy.dll");
  char** lines = nullptr;
  find<int(char***)>(proxy, "TBB_malloc_replacement_log")(&lines);
  const std::string name = "(" + library + ")";
  bool is_there = false;
  for (; *lines != nullptr; ++lines) {
    if (std::strstr(*lines, name.c_str()) == nullptr) continue;
    is_there = true;
    check(std::strstr(*lines, "of the same family") == nullptr, *lines);
  }
  check(is_there, "the log tells of the library");
}

void load_and_unload(const std::string& library) {
  for (const Import& import : imports) set_import(import);
  VirtualFree(place, 0, MEM_RELEASE);
  calls = 0;
  const HMODULE runtime = LoadLibraryA(library.c_str());
  check(static_cast<void*>(runtime) == place, "it lies where it lay before");
  if (runtime != place) return;
  check_blocks(runtime);
  check_log(library.substr(library.rfind('\\') + 1));
  if (refused_call == 0) {
    check(!first_rights.empty(), "pages are changed");
    for (const auto& [page, rights] : first_rights) {
      // All but the memory for the code.
      if (rights != PAGE_READWRITE) check(rights_of(page) == rights, "a page has its rights again");
    }
  }
  first_rights.clear();
  FreeLibrary(runtime);
  VirtualAlloc(place, 1, MEM_RESERVE, PAGE_NOACCESS);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string odd = arguments[2];
  const std::string library = copy_with_tables_in_code("msvcr0_odd_" + odd + ".dll");
  const HMODULE early = LoadLibraryA(library.c_str());
  const HMODULE user = LoadLibraryA(("odd_user_" + odd + ".dll").c_str());
  const HMODULE users = GetModuleHandleA(("msvcr0_odd_" + odd + ".dll").c_str());
  for (Import& import : imports) {
    const auto address = [&](HMODULE module) {
      return reinterpret_cast<void*>(GetProcAddress(module, import.name));
    };
    import.function = address(early);
    import.word = find_import(user, address(users));
    if (import.word == nullptr) return 2;
  }
  FreeLibrary(early);
  // The place stays free for it.
  place = VirtualAlloc(early, 1, MEM_RESERVE, PAGE_NOACCESS);
  const HMODULE proxy = LoadLibraryA(arguments[1]);
  if (proxy == nullptr || !hook_import(proxy, VirtualProtect, watch)) return 2;
  load_and_unload(library);
  const int all_calls = calls;
  for (refused_call = 1; refused_call <= all_calls; ++refused_call) load_and_unload(library);
  DeleteFileA(library.c_str());
  return report();
}
