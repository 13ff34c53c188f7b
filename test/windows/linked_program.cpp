// SPDX-License-Identifier: Apache-2.0
// A program that has malloc replaced by a header, and calls nothing of the replacement library but
// its log. DLLs come and go meanwhile.
#include PROXY_HEADER
#include <corbel/malloc.h>
#include <windows.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "checks.hpp"

namespace {

bool is_ours(const void* block) { return scalable_msize(const_cast<void*>(block)) != 0; }

// Allocated before main.
std::string early(100, 'x');

void use_c_and_cxx() {
  void* const block = std::malloc(100);
  check(is_ours(block), "malloc");
  std::free(block);
  check(is_ours(early.data()), "a block from before main");
  const auto number = std::make_unique<int>(42);
  check(is_ours(number.get()), "new");
  const std::unique_ptr<char[]> array(new char[1000]);
  check(is_ours(array.get()), "new[]");
  struct alignas(256) Wide {
    char bytes[256];
  };
  const auto wide = std::make_unique<Wide>();
  check(reinterpret_cast<std::uintptr_t>(wide.get()) % 256 == 0, "new with an alignment");
  char* const text = _strdup("text");
  check(is_ours(text), "_strdup");
  std::free(text);
}

// Blocks of threads that end, freed by others.
void use_threads() {
  std::vector<std::string*> texts(100);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::thread([&, i] { texts[i] = new std::string(100 + i, 'y'); }).join();
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    check(texts[i]->size() == 100 + i && (*texts[i])[99] == 'y', "a block of a thread that ended");
    delete texts[i];
  }
}

// A C library that nothing else here uses, with a block that outlives it.
void load_and_unload() {
  std::vector<void*> kept;
  for (int i = 0; i < 20; ++i) {
    const HMODULE library = LoadLibraryA("msvcr110.dll");
    if (library == nullptr) {
      std::puts("no msvcr110.dll");
      return;
    }
    const auto allocate = reinterpret_cast<void* (*)(std::size_t)>(
        reinterpret_cast<void*>(GetProcAddress(library, "malloc")));
    void* const block = allocate(1000);
    check(is_ours(block), "malloc of a library that is loaded again");
    std::memset(block, i, 1000);
    kept.push_back(block);
    FreeLibrary(library);
    check(GetModuleHandleA("msvcr110.dll") == nullptr, "the library is gone");
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    check(static_cast<char*>(kept[i])[999] == char(i), "a block that outlives its library");
    std::free(kept[i]);
  }
}

void check_log() {
  char** lines = nullptr;
  check(TBB_malloc_replacement_log(&lines) == 0, "the log's verdict");
  char** again = nullptr;
  TBB_malloc_replacement_log(&again);
  check(lines == again, "the log stays while nothing changes");
  bool has_malloc = false;
  for (; *lines != nullptr; ++lines) {
    check(std::strncmp(*lines, "Success: ", 9) == 0, *lines);
    has_malloc = has_malloc || std::strncmp(*lines, "Success: malloc (", 17) == 0;
  }
  check(has_malloc, "malloc in the log");
}

std::unique_ptr<std::string> late;  // destroyed when the process ends

}  // namespace

int main(int count, char**) {
  if (count > 1) {  // whatever the word is: for a look from outside
    std::printf("%lu\n", GetCurrentProcessId());
    std::fflush(stdout);
    std::getchar();
    return 0;
  }
  use_c_and_cxx();
  use_threads();
  load_and_unload();
  check_log();
  late = std::make_unique<std::string>(1000, 'z');
  std::atexit([] { std::free(std::malloc(10)); });
  return report();
}
