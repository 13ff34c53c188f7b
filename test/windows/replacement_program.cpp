// SPDX-License-Identifier: Apache-2.0
// Replaces malloc in the running process, and checks each function of a C library before and after.
// Usage: windows_replacement <proxy DLL> <C library's DLL> [<bytes that its malloc begins with>]
//
// It calls the functions by their addresses: the library need not be the one that this program
// uses, nor of the same compiler.
#include <windows.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "checks.hpp"
#include "find.hpp"

namespace {

HMODULE library;
int before_count = 0;

// A function of the library, or nothing.
template <class Function>
struct Imported {
  explicit Imported(const char* name) : function(find<Function>(library, name)) {}
  explicit operator bool() const { return function != nullptr; }
  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return function(arguments...);
  }
  Function* function;
};

using Malloc = void*(std::size_t);
using Calloc = void*(std::size_t, std::size_t);
using Realloc = void*(void*, std::size_t);
using Recalloc = void*(void*, std::size_t, std::size_t);
using Free = void(void*);
using Msize = std::size_t(void*);
using AlignedMsize = std::size_t(void*, std::size_t, std::size_t);
using OffsetMalloc = void*(std::size_t, std::size_t, std::size_t);
using OffsetRealloc = void*(void*, std::size_t, std::size_t, std::size_t);
using OffsetRecalloc = void*(void*, std::size_t, std::size_t, std::size_t, std::size_t);

constexpr std::size_t kTooMuch = SIZE_MAX / 2;

Msize* corbel_size;  // 0 for what is no block of Corbel's

bool is_ours(void* block) { return corbel_size(block) != 0; }

int& error() { return *find<int*()>(library, "_errno")(); }

void fill(void* block, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) static_cast<unsigned char*>(block)[i] = (i % 251) + 1;
}
bool is_filled(const void* block, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<const unsigned char*>(block)[i] != (i % 251) + 1) return false;
  }
  return true;
}
bool is_zero(const void* block, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    if (static_cast<const unsigned char*>(block)[i] != 0) return false;
  }
  return true;
}
bool is_aligned(const void* block, std::size_t alignment, std::size_t offset = 0) {
  return (reinterpret_cast<std::uintptr_t>(block) + offset) % alignment == 0;
}

// ---- invalid arguments --------------------------------------------------------------------------

int invalid_calls = 0;
void on_invalid(const wchar_t*, const wchar_t*, const wchar_t*, unsigned, std::uintptr_t) {
  ++invalid_calls;
}

// Whether the library's handler can be replaced by one that lets the program go on.
bool expect_invalid_calls() {
  using Handler = decltype(&on_invalid);
  const Imported<Handler(Handler)> set("_set_invalid_parameter_handler");
  if (set) set(on_invalid);
  return bool(set);
}

// ---- blocks from before -------------------------------------------------------------------------

struct Before {
  void* freed;
  void* grown;
  void* measured;
  void* expanded;
  void* zeroed;
  void* emptied;
  void* aligned;
  void* aligned_grown;
  void* aligned_zeroed;
  void* offset;
};
Before before;

void allocate_before() {
  const Imported<Malloc> malloc_("malloc");
  before.freed = malloc_(50);
  before.grown = malloc_(1000);
  before.measured = malloc_(53);
  before.expanded = malloc_(64);
  before.zeroed = malloc_(1001);
  before.emptied = malloc_(8);
  for (void* block : {before.freed, before.measured, before.expanded}) fill(block, 50);
  fill(before.grown, 1000);
  fill(before.zeroed, 1001);
  if (const Imported<Calloc> aligned("_aligned_malloc"); aligned) {
    before.aligned = aligned(100, 256);
    before.aligned_grown = aligned(1000, 64);
    before.aligned_zeroed = aligned(1000, 64);
    fill(before.aligned_grown, 1000);
    fill(before.aligned_zeroed, 1000);
  }
  if (const Imported<OffsetMalloc> offset("_aligned_offset_malloc"); offset) {
    before.offset = offset(200, 64, 8);
    fill(before.offset, 200);
  }
}

void check_blocks_from_before() {
  const Imported<Free> free_("free");
  const Imported<Realloc> realloc_("realloc"), expand("_expand");
  const Imported<Msize> msize("_msize");
  check(!is_ours(before.freed), "a block from before is the library's");
  check(is_filled(before.freed, 50), "its content");
  free_(before.freed);
  check(msize(before.measured) == 53, "its size is what was asked for");
  free_(before.measured);
  void* const grown = realloc_(before.grown, 500000);
  check(grown != nullptr && is_filled(grown, 1000), "it grows");
  free_(grown);
  check(realloc_(before.emptied, std::size_t(0)) == nullptr, "it shrinks to nothing");
  check(expand(before.expanded, std::size_t(32)) == before.expanded, "it shrinks in its place");
  free_(before.expanded);
  if (const Imported<Recalloc> recalloc("_recalloc"); recalloc) {
    void* const zeroed = recalloc(before.zeroed, std::size_t(3), std::size_t(1000));
    check(is_filled(zeroed, 1001) && is_zero(zeroed, 1001, 3000), "it grows by zeros");
    free_(zeroed);
  }
  if (const Imported<Free> aligned_free("_aligned_free"); aligned_free) {
    aligned_free(before.aligned);
    const Imported<Recalloc> aligned_realloc("_aligned_realloc");
    void* const moved = aligned_realloc(before.aligned_grown, std::size_t(5000), std::size_t(64));
    check(is_filled(moved, 1000) && is_aligned(moved, 64), "an aligned one grows");
    check(is_ours(moved), "then it is Corbel's");
    aligned_free(moved);
    const Imported<OffsetRealloc> aligned_recalloc("_aligned_recalloc");
    // Wine's has no _aligned_msize where it has no _aligned_recalloc.
    if (aligned_recalloc) {
      void* const zeroed = aligned_recalloc(before.aligned_zeroed, std::size_t(2),
                                            std::size_t(1000), std::size_t(64));
      check(is_filled(zeroed, 1000) && is_zero(zeroed, 1100, 2000), "an aligned one, by zeros");
      aligned_free(zeroed);
    }
    aligned_free(before.offset);
  }
  ++before_count;
}

// ---- each function ------------------------------------------------------------------------------

void check_plain(bool can_be_invalid) {
  const Imported<Malloc> malloc_("malloc");
  const Imported<Calloc> calloc_("calloc");
  const Imported<Realloc> realloc_("realloc"), expand("_expand");
  const Imported<Free> free_("free");
  const Imported<Msize> msize("_msize");

  for (const std::size_t size : {0, 1, 8, 9, 100, 5000, 100000, 5000000}) {
    void* const block = malloc_(size);
    check(is_ours(block) && msize(block) >= size, "malloc");
    fill(block, size);
    void* const moved = realloc_(block, size + 100000);
    check(is_ours(moved) && is_filled(moved, size), "realloc");
    error() = 0;
    free_(moved);
    check(error() == 0, "free leaves errno alone");
  }
  free_(nullptr);
  void* const fresh = realloc_(static_cast<void*>(nullptr), std::size_t(10));
  check(is_ours(fresh), "realloc of nothing");
  check(realloc_(fresh, std::size_t(0)) == nullptr, "realloc to nothing");

  error() = 0;
  check(malloc_(kTooMuch) == nullptr && error() == ENOMEM, "malloc of too much");
  error() = 0;
  check(calloc_(std::size_t(1) << 40, std::size_t(1) << 40) == nullptr && error() == ENOMEM,
        "calloc of more than there are numbers for");
  void* const kept = malloc_(100);
  fill(kept, 100);
  error() = 0;
  check(realloc_(kept, kTooMuch) == nullptr && error() == ENOMEM && is_filled(kept, 100),
        "realloc to too much");

  for (const std::size_t size : {1, 30, 5000, 3000000}) {
    void* const block = calloc_(size, std::size_t(3));
    check(is_ours(block) && is_zero(block, 0, msize(block)), "calloc");
    fill(block, 3 * size);
    free_(block);
  }

  check(expand(kept, std::size_t(50)) == kept && is_filled(kept, 50), "_expand to less");
  check(expand(kept, msize(kept)) == kept, "_expand to what there is");
  error() = 0;
  check(expand(kept, std::size_t(100000)) == nullptr && error() == ENOMEM, "_expand to more");
  free_(kept);
  if (!can_be_invalid) return;
  error() = invalid_calls = 0;
  check(msize(static_cast<void*>(nullptr)) == SIZE_MAX && error() == EINVAL, "_msize of nothing");
  check(expand(static_cast<void*>(nullptr), std::size_t(1)) == nullptr, "_expand of nothing");
}

void check_recalloc() {
  const Imported<Recalloc> recalloc("_recalloc");
  if (!recalloc) return;
  const Imported<Free> free_("free");
  void* block = recalloc(static_cast<void*>(nullptr), std::size_t(10), std::size_t(1));
  check(is_ours(block) && is_zero(block, 0, 10), "_recalloc of nothing");
  fill(block, 10);
  block = recalloc(block, std::size_t(14), std::size_t(1));
  check(is_filled(block, 10) && is_zero(block, 10, 14), "_recalloc within a block");
  for (const std::size_t size : {1000, 100000, 200, 300}) {
    fill(block, 10);
    block = recalloc(block, size, std::size_t(10));
    check(is_filled(block, 10) && is_zero(block, 14, size * 10), "_recalloc");
  }
  fill(block, 3000);
  block = recalloc(block, std::size_t(5), std::size_t(1));
  block = recalloc(block, std::size_t(3000), std::size_t(1));
  check(is_filled(block, 5) && is_zero(block, 5, 3000), "_recalloc to less and to more");
  error() = 0;
  check(recalloc(block, std::size_t(1) << 40, std::size_t(1) << 40) == nullptr && error() == ENOMEM,
        "_recalloc of more than there are numbers for");
  free_(block);
}

void check_aligned(bool can_be_invalid) {
  const Imported<Calloc> malloc_("_aligned_malloc");
  const Imported<Recalloc> realloc_("_aligned_realloc");
  const Imported<OffsetRealloc> recalloc("_aligned_recalloc");
  const Imported<Free> free_("_aligned_free");
  const Imported<AlignedMsize> msize("_aligned_msize");
  if (!malloc_) return;
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    void* block = malloc_(std::size_t(100), alignment);
    check(is_ours(block) && is_aligned(block, alignment), "_aligned_malloc");
    fill(block, 100);
    if (msize) check(msize(block, alignment, std::size_t(0)) >= 100, "_aligned_msize");
    block = realloc_(block, std::size_t(100000), alignment);
    check(is_filled(block, 100) && is_aligned(block, alignment), "_aligned_realloc");
    if (recalloc) {
      block = recalloc(block, std::size_t(40), std::size_t(10000), alignment);
      check(is_filled(block, 100) && is_zero(block, 200000, 400000) && is_aligned(block, alignment),
            "_aligned_recalloc");
    }
    free_(block);
  }
  free_(nullptr);
  error() = 0;
  check(malloc_(kTooMuch, std::size_t(64)) == nullptr && error() == ENOMEM,
        "_aligned_malloc of too much");
  void* const empty = malloc_(std::size_t(0), std::size_t(64));
  check(is_ours(empty), "_aligned_malloc of nothing");
  check(realloc_(empty, std::size_t(0), std::size_t(64)) == nullptr, "_aligned_realloc to nothing");
  if (!can_be_invalid) return;
  error() = 0;
  check(malloc_(std::size_t(8), std::size_t(24)) == nullptr && error() == EINVAL,
        "_aligned_malloc to 24");
}

void check_offset(bool can_be_invalid) {
  const Imported<OffsetMalloc> malloc_("_aligned_offset_malloc");
  const Imported<OffsetRealloc> realloc_("_aligned_offset_realloc");
  const Imported<OffsetRecalloc> recalloc("_aligned_offset_recalloc");
  const Imported<Free> free_("_aligned_free");
  const Imported<AlignedMsize> msize("_aligned_msize");
  if (!malloc_) return;
  for (std::size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    for (const std::size_t offset : {1, 5, 8, 24, 99}) {
      void* block = malloc_(std::size_t(100), alignment, offset);
      check(is_aligned(block, alignment, offset), "_aligned_offset_malloc");
      fill(block, 100);
      if (msize) check(msize(block, alignment, offset) >= 100, "the size of such a block");
      block = realloc_(block, std::size_t(10000), alignment, offset);
      check(is_filled(block, 100) && is_aligned(block, alignment, offset),
            "_aligned_offset_realloc");
      if (recalloc) {
        block = recalloc(block, std::size_t(4), std::size_t(10000), alignment, offset);
        check(is_filled(block, 100) && is_zero(block, 20000, 40000) &&
                  is_aligned(block, alignment, offset),
              "_aligned_offset_recalloc");
      }
      block = realloc_(block, std::size_t(50), alignment, std::size_t(0));
      check(is_filled(block, 50) && is_aligned(block, alignment), "back to no offset");
      free_(block);
    }
  }
  if (!can_be_invalid) return;
  error() = 0;
  check(malloc_(std::size_t(8), std::size_t(64), std::size_t(8)) == nullptr && error() == EINVAL,
        "an offset outside the block");
}

void check_copies_of_text() {
  const Imported<Free> free_("free");
  for (const char* name : {"_strdup", "_mbsdup"}) {
    const Imported<char*(const char*)> copy(name);
    if (!copy) continue;
    char* const text = copy("some text");
    check(is_ours(text) && std::strcmp(text, "some text") == 0, name);
    free_(text);
  }
  if (const Imported<wchar_t*(const wchar_t*)> copy("_wcsdup"); copy) {
    wchar_t* const text = copy(L"some text");
    check(is_ours(text) && std::wcscmp(text, L"some text") == 0, "_wcsdup");
    free_(text);
  }
}

int exit_calls = 0;
int on_exit_of_table() { return ++exit_calls, 0; }

// The library's own calls of functions that Microsoft's does not export: a table that grows.
void check_inner_calls() {
  struct Table {
    void* words[3];
  };
  using OnExit = int();
  const Imported<int(Table*)> initialise("_initialize_onexit_table");
  const Imported<int(Table*, OnExit*)> add("_register_onexit_function");
  const Imported<int(Table*)> execute("_execute_onexit_table");
  if (!initialise || !add || !execute) return;
  Table table{};
  initialise(&table);
  for (int i = 0; i < 500; ++i) {
    check(add(&table, on_exit_of_table) == 0, "a table of the library grows");
  }
  check(execute(&table) == 0 && exit_calls == 500, "it keeps its content");
}

void check_base_and_debug() {
  for (const char* suffix : {"_base", "_crt"}) {
    const std::string end = suffix;
    const Imported<Malloc> malloc_(("_malloc" + end).c_str());
    const Imported<Calloc> calloc_(("_calloc" + end).c_str());
    const Imported<Realloc> realloc_(("_realloc" + end).c_str());
    const Imported<Free> free_(end == "_base" ? "_free_base" : "free");
    if (!malloc_) continue;
    void* const block = realloc_(malloc_(std::size_t(10)), std::size_t(1000));
    check(is_ours(block), "_malloc_base and _realloc_base, or _crt");
    free_(block);
    void* const zeroed = calloc_(std::size_t(10), std::size_t(10));
    check(is_ours(zeroed) && is_zero(zeroed, 0, 100), "_calloc_base, or _crt");
    free_(zeroed);
  }
  const Imported<void*(std::size_t, int, const char*, int)> malloc_dbg("_malloc_dbg");
  const Imported<void*(void*, std::size_t, int, const char*, int)> realloc_dbg("_realloc_dbg");
  const Imported<void(void*, int)> free_dbg("_free_dbg");
  if (!malloc_dbg) return;
  void* const block = malloc_dbg(std::size_t(10), 1, "file", 2);
  check(is_ours(block), "_malloc_dbg");
  void* const grown = realloc_dbg(block, std::size_t(10000), 1, "file", 2);
  check(is_ours(grown), "_realloc_dbg");
  free_dbg(grown, 1);
}

// ---- new-handler and operator new ---------------------------------------------------------------

int handler_calls = 0;
std::size_t handler_size = 0;
int handler_answers = 0;  // so often it says that there is memory now
int on_no_memory(std::size_t size) {
  ++handler_calls;
  handler_size = size;
  return handler_answers-- > 0 ? 1 : 0;
}

using NewHandler = decltype(&on_no_memory);

// False if the library has no such function, or, as Wine's ucrtbase, one without an effect.
bool set_new_handler(NewHandler handler) {
  constexpr const char* kNames[][2] = {
      {"_set_new_handler", "_query_new_handler"},
      {"?_set_new_handler@@YAP6AH_K@ZP6AH0@Z@Z", "?_query_new_handler@@YAP6AH_K@ZXZ"}};
  for (const auto& [set_name, query_name] : kNames) {
    const Imported<NewHandler(NewHandler)> set(set_name);
    const Imported<NewHandler()> query(query_name);
    if (!set || !query) continue;
    set(handler);
    return query() == handler;
  }
  return false;
}

std::atomic<bool> has_thrown{false};
std::atomic<bool> can_be_caught{false};

// Whether a search for a handler gets from where the exception is thrown to this program's code.
bool finds_this_program(CONTEXT context) {
  const auto program = reinterpret_cast<DWORD64>(GetModuleHandleA(nullptr));
  for (int frames = 0; frames < 50 && context.Rip != 0; ++frames) {
    DWORD64 base = 0;
    RUNTIME_FUNCTION* const function = RtlLookupFunctionEntry(context.Rip, &base, nullptr);
    if (function == nullptr) return false;
    if (base == program) return true;
    void* data = nullptr;
    DWORD64 frame = 0;
    RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame,
                     nullptr);
  }
  return false;
}

LONG CALLBACK on_exception(EXCEPTION_POINTERS* what) {
  constexpr DWORD kMicrosoftCpp = 0xe06d7363;
  if (what->ExceptionRecord->ExceptionCode != kMicrosoftCpp) return EXCEPTION_CONTINUE_SEARCH;
  has_thrown = true;
  can_be_caught = finds_this_program(*what->ContextRecord);
  // This compiler's code can't catch it.
  ExitThread(0);
}

// Whether operator new throws if there is no memory; msvcrt's in Wine returns null.
bool new_throws() {
  has_thrown = false;
  void* const registered = AddVectoredExceptionHandler(1, on_exception);
  HANDLE const thread = CreateThread(
      nullptr, 0,
      [](void*) -> DWORD {
        Imported<Malloc>("??2@YAPEAX_K@Z")(kTooMuch);
        return 1;
      },
      nullptr, 0, nullptr);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
  RemoveVectoredExceptionHandler(registered);
  return has_thrown;
}
bool new_threw = false;

void check_new_handler() {
  const Imported<Malloc> malloc_("malloc");
  const Imported<int(int)> set_mode(find<int(int)>(library, "_set_new_mode") != nullptr
                                        ? "_set_new_mode"
                                        : "?_set_new_mode@@YAHH@Z");
  if (!set_mode || !set_new_handler(on_no_memory)) return;
  check(malloc_(kTooMuch) == nullptr && handler_calls == 0, "malloc does not ask the new-handler");
  set_mode(1);
  handler_answers = 2;
  check(malloc_(kTooMuch) == nullptr && handler_calls == 3 && handler_size == kTooMuch,
        "malloc asks it with _set_new_mode(1), until it gives up");
  set_mode(0);
  set_new_handler(nullptr);
}

void check_operator_new() {
  const Imported<Malloc> new_("??2@YAPEAX_K@Z"), new_array("??_U@YAPEAX_K@Z");
  const Imported<Free> delete_("??3@YAXPEAX@Z"), delete_array("??_V@YAXPEAX@Z");
  if (!new_ || !delete_) return;
  void* const block = new_(std::size_t(100));
  check(is_ours(block), "operator new");
  delete_(block);
  if (new_array && delete_array) {
    void* const array = new_array(std::size_t(100));
    check(is_ours(array), "operator new[]");
    delete_array(array);
  }
  handler_calls = 0;
  handler_answers = 1;
  const bool has_handler = set_new_handler(on_no_memory);
  check(new_throws() == new_threw, "operator new of too much throws, if it did");
  check(!new_threw || can_be_caught, "its caller can catch that");
  check(!has_handler || handler_calls >= 2, "it asks the new-handler until that gives up");
  set_new_handler(nullptr);
}

// ---- the log ------------------------------------------------------------------------------------

using ReplacementLog = int(char***);

void check_log(HMODULE proxy, const char* name, const char* malloc_bytes) {
  const auto log = find<ReplacementLog>(proxy, "TBB_malloc_replacement_log");
  char** lines = nullptr;
  check(log(&lines) == 0, "the log's verdict");
  check(log(nullptr) == 0, "the log's verdict without a log");
  int ours = 0;
  for (char** line = lines; *line != nullptr; ++line) {
    const bool is_success = std::strncmp(*line, "Success: ", 9) == 0;
    if (!is_success) std::fprintf(stderr, "%s\n", *line);
    check(is_success, "a line of the log");
    if (std::strstr(*line, (std::string("(") + name + ")").c_str()) == nullptr) continue;
    ++ours;
    if (std::strncmp(*line, "Success: malloc (", 17) != 0) continue;
    check(std::strstr(*line, (std::string("byte pattern: <") + malloc_bytes).c_str()) != nullptr,
          "the library's malloc is the one that is meant");
  }
  check(ours >= 7, "the library's functions in the log");
}

// ---- all ----------------------------------------------------------------------------------------

std::atomic<bool> is_running{true};
std::atomic<long> rounds{0};

// Allocates and frees in the library while it is being changed.
DWORD WINAPI allocate_always(void*) {
  const Imported<Malloc> malloc_("malloc");
  const Imported<Realloc> realloc_("realloc");
  const Imported<Free> free_("free");
  while (is_running) {
    void* const block = malloc_(std::size_t(40));
    std::memset(block, 1, 40);
    free_(realloc_(block, std::size_t(80)));
    ++rounds;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 4) return 2;
  report_crashes();
  const char* const name = arguments[2];
  library = LoadLibraryA(name);
  if (library == nullptr) {
    std::printf("skipped: there is no %s\n", name);
    return 77;
  }
  const bool can_be_invalid = expect_invalid_calls();
  allocate_before();
  if (Imported<Malloc>("??2@YAPEAX_K@Z")) new_threw = new_throws();
  can_be_caught = false;
  constexpr int kThreads = 3;
  HANDLE threads[kThreads];
  for (HANDLE& t : threads) t = CreateThread(nullptr, 0, allocate_always, nullptr, 0, nullptr);
  while (rounds < 1000) Sleep(0);

  const HMODULE proxy = LoadLibraryA(arguments[1]);
  if (proxy == nullptr) {
    std::fprintf(stderr, "wrong: no %s: error %lu\n", arguments[1], GetLastError());
    return 1;
  }
  check(LoadLibraryA(arguments[1]) == proxy && FreeLibrary(proxy) && FreeLibrary(proxy) &&
            GetModuleHandleA(arguments[1]) == proxy,
        "the proxy stays");
  const char* const allocator =
      std::strstr(arguments[1], "tbb") != nullptr ? "tbbmalloc.dll" : "corbelmalloc.dll";
  corbel_size = find<Msize>(GetModuleHandleA(allocator), "scalable_msize");

  check_log(proxy, name, count == 4 ? arguments[3] : "");
  check_plain(can_be_invalid);
  check_blocks_from_before();
  check_recalloc();
  check_aligned(can_be_invalid);
  check_offset(can_be_invalid);
  check_copies_of_text();
  check_inner_calls();
  check_base_and_debug();
  check_new_handler();
  check_operator_new();
  check(before_count == 1, "the blocks from before have been seen");

  const long so_far = rounds;
  while (rounds < so_far + 1000) Sleep(0);
  // The process ends with its threads inside malloc and free.
  return report();
}
