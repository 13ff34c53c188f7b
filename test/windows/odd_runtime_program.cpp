// SPDX-License-Identifier: Apache-2.0
// C libraries of which a function cannot be replaced at its entry. The log says so; other libraries
// get the replacements by their tables of imports, and by the odd library's table of exports.
// Usage: windows_odd_runtime <proxy DLL> free|malloc|aligned_malloc|malloc_dbg
#include <windows.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "checks.hpp"
#include "find.hpp"
#include "hooked_import.hpp"
#include "listed_name.hpp"

namespace {

using Malloc = void*(std::size_t);
using Free = void(void*);

std::size_t (*corbel_size)(void*);

bool is_ours(void* block) { return corbel_size(block) != 0; }

// The line of the log about a function of a library; empty if there is none.
std::string line_of(HMODULE proxy, const std::string& function, const std::string& library,
                    int verdict) {
  char** lines = nullptr;
  check(find<int(char***)>(proxy, "TBB_malloc_replacement_log")(&lines) == verdict, "the verdict");
  const std::string what = ": " + function + " (" + library + ")";
  for (; *lines != nullptr; ++lines) {
    if (std::strstr(*lines, what.c_str()) != nullptr) return *lines;
  }
  return "";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// The library's aligned functions stay, all of them, and work on the replaced malloc.
void check_aligned(HMODULE proxy, HMODULE runtime, const std::string& library) {
  check(contains(line_of(proxy, "_aligned_free", library, -1),
                 "not replaced, because _aligned_malloc, of the same family, cannot be"),
        "the reason of another aligned function");
  check(contains(line_of(proxy, "malloc", library, -1), "Success: "), "malloc is replaced");
  const auto free_aligned = find<Free>(runtime, "_aligned_free");
  void* const inner = find<void*()>(runtime, "odd_inner_aligned_malloc")();
  void* const looked_up = find<void*(std::size_t, std::size_t)>(runtime, "_aligned_malloc")(10, 32);
  for (void* block : {inner, looked_up}) {
    check(!is_ours(block) && is_ours(static_cast<void**>(block)[-1]), "it lies in one of malloc");
    free_aligned(block);
  }
  check(find<int()>(runtime, "odd_releases")() == 0, "it goes back to Corbel");
}

// The library's own calls stay with it: its block lies inside another, and goes to all its
// functions.
void check_debug(HMODULE runtime) {
  const auto releases = find<int()>(runtime, "odd_releases");
  const int before = releases();
  const auto free_dbg = find<void(void*, int)>(runtime, "_free_dbg");
  free_dbg(find<void*()>(runtime, "odd_inner_malloc_dbg")(), 0);
  check(releases() == before + 1, "an inner block of a debug function goes back to the library");
  void* const block =
      find<void*(std::size_t, int, const char*, int)>(runtime, "_malloc_dbg")(10, 0, nullptr, 0);
  check(is_ours(block), "a debug function that is looked up is replaced");
  free_dbg(block, 0);
  check(releases() == before + 1, "and the one that frees");
}

HMODULE renamed;
std::optional<ListedName> long_name;
char* log_memory = nullptr;
std::size_t log_size = 0;

// Memory for the log. Its lines grow longer meanwhile.
void* WINAPI grow_log(void* address, SIZE_T size, DWORD type, DWORD rights) {
  long_name.emplace(renamed, L"msvcr_with_a_name_that_is_longer_than_before.dll");
  log_memory = static_cast<char*>(VirtualAlloc(address, size, type, rights));
  log_size = size;
  return log_memory;
}

// The log keeps to its memory. `left_out`: a library that it tells of.
void check_growing_log(HMODULE proxy, HMODULE left_out) {
  renamed = left_out;
  if (!hook_import(proxy, VirtualAlloc, grow_log)) return check(false, "the import");
  char** lines = nullptr;
  find<int(char***)>(proxy, "TBB_malloc_replacement_log")(&lines);
  check(lines == reinterpret_cast<char**>(log_memory), "a new log");
  for (; *lines != nullptr; ++lines) {
    check(*lines + std::strlen(*lines) < log_memory + log_size, "a line lies in the memory");
  }
  check(hook_import(proxy, grow_log, VirtualAlloc), "the import is back");
  long_name.reset();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string odd = arguments[2];
  const std::string library = "msvcr0_odd_" + odd + ".dll";
  const HMODULE user = LoadLibraryA(("odd_user_" + odd + ".dll").c_str());
  const HMODULE runtime = GetModuleHandleA(library.c_str());
  if (user == nullptr || runtime == nullptr) return 2;
  void* const before = find<Malloc>(user, "use_malloc")(10);

  const HMODULE proxy = LoadLibraryA(arguments[1]);
  if (proxy == nullptr) return 2;
  corbel_size = find<std::size_t(void*)>(GetModuleHandleA("corbelmalloc.dll"), "scalable_msize");
  const auto releases = find<int()>(runtime, "odd_releases");

  const std::string function = odd == "free" || odd == "malloc" ? odd : "_" + odd;
  const std::string line = line_of(proxy, function, library, -1);
  check(contains(line, "Fail: "), "the log's line");
  check(contains(line, "byte pattern: <E300"), "the log's bytes");
  check(contains(line, "its first instructions are not understood"), "the log's reason");
  if (odd == "aligned_malloc") {
    check_aligned(proxy, runtime, library);
    return report();
  }
  // If it is malloc, the library's own malloc stays, and its free knows all blocks. Else the
  // library would give our blocks to its own free: so its own malloc, too, stays as it is.
  check(contains(line, "replaced for other libraries alone, since its first"), "what is done then");
  const std::string other = line_of(proxy, "calloc", library, -1);
  check(contains(other, odd == "malloc" ? "Success: " : "Fail: "), "the line of another function");
  check(odd == "malloc" || contains(other, ("another function, " + function + ",").c_str()),
        "its reason");

  void* const inner = find<void*()>(runtime, "odd_inner_malloc")();
  check(!is_ours(inner), "the library's own malloc is as it was");
  const auto inner_free = find<Free>(runtime, "odd_inner_free");
  inner_free(inner);
  check(releases() == 1, "its block goes to its own free");

  void* const imported = find<Malloc>(user, "use_malloc")(10);
  check(is_ours(imported), "an imported malloc is replaced");
  find<Free>(user, "use_free")(imported);
  check(releases() == 1, "its block goes to Corbel");
  find<Free>(user, "use_free")(before);
  check(releases() == 2, "a block from before goes to the library");

  if (odd == "malloc_dbg") check_debug(runtime);
  const int so_far = releases();
  void* const looked_up = find<Malloc>(runtime, "malloc")(10);
  check(is_ours(looked_up), "a malloc that is looked up is replaced");
  find<Free>(runtime, "free")(looked_up);
  check(releases() == so_far, "and free");

  const HMODULE late = LoadLibraryA(("odd_late_user_" + odd + ".dll").c_str());
  if (late == nullptr) return 2;
  void* const late_block = find<Malloc>(late, "use_malloc")(10);
  check(is_ours(late_block), "a library that is loaded later gets the replacement");
  find<Free>(late, "use_free")(late_block);
  check(releases() == so_far, "and that of free");

  // More of them than can be replaced: copies of this one under other names.
  wchar_t path[MAX_PATH];
  GetModuleFileNameW(runtime, path, MAX_PATH);
  const std::wstring folder = std::wstring(path).substr(0, std::wstring(path).rfind(L'\\') + 1);
  {
    const std::wstring copy = folder + L"copy_" + std::wstring(odd.begin(), odd.end()) + L".dll";
    check(CopyFileW(path, copy.c_str(), FALSE), "a copy");
    const HMODULE module = LoadLibraryW(copy.c_str());
    {
      const ListedName name(module, L"msvcr_just_mapped.dll");
      check(line_of(proxy, "malloc", "msvcr_just_mapped.dll", -1).empty(), "there is room for it");
    }
    FreeLibrary(module);
    DeleteFileW(copy.c_str());
  }
  constexpr int kCopies = 12;
  HMODULE copies[kCopies];
  const auto name_of = [&](int i) {
    return L"msvcr_copy_" + std::to_wstring(i) + std::wstring(odd.begin(), odd.end()) + L".dll";
  };
  for (int i = 0; i < kCopies; ++i) {
    check(CopyFileW(path, (folder + name_of(i)).c_str(), FALSE), "a copy");
    copies[i] = LoadLibraryW((folder + name_of(i)).c_str());
  }
  const std::wstring wide_last = name_of(kCopies - 1);
  const std::string last(wide_last.begin(), wide_last.end());
  check(contains(line_of(proxy, "malloc", last, -1), "too many"), "one that is left out");
  check_growing_log(proxy, copies[kCopies - 1]);
  for (int i = 0; i < kCopies; ++i) {
    FreeLibrary(copies[i]);
    DeleteFileW((folder + name_of(i)).c_str());
  }
  check(line_of(proxy, "malloc", last, -1).empty(), "it is gone");

  // Away and back.
  FreeLibrary(late);
  FreeLibrary(user);
  check(GetModuleHandleA(library.c_str()) == nullptr, "the library is gone");
  check(line_of(proxy, function, library, 0).empty(), "the log has forgotten it");
  const HMODULE again = LoadLibraryA(library.c_str());
  void* const again_block = find<Malloc>(again, "malloc")(10);
  check(is_ours(again_block), "a library that comes back is replaced again");
  find<Free>(again, "free")(again_block);
  return report();
}
