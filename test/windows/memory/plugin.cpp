// SPDX-License-Identifier: Apache-2.0
// A DLL of a program, which allocates from Corbel's, is unloaded while its blocks live, and
// allocates and frees when the process ends.
#include <corbel/malloc.h>

#include "checks.hpp"

namespace {

void* kept[100];

}  // namespace

extern "C" __declspec(dllexport) void* make_block(std::size_t size) {
  void* const block = scalable_malloc(size);
  if (block != nullptr) std::memset(block, 0x77, size);
  return block;
}

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void* at_end) {
  if (reason == DLL_PROCESS_ATTACH) {
    for (std::size_t i = 0; i < 100; ++i) kept[i] = scalable_malloc(i * i + 1);
  }
  if (reason == DLL_PROCESS_DETACH) {
    // By then the other threads are gone, if the process ends.
    for (void* const b : kept) scalable_free(b);
    for (std::size_t i = 0; at_end != nullptr && i < 300; ++i) {
      const std::size_t size = i % 10 == 0 ? i * 1000 : i * 3;
      auto* block = static_cast<char*>(scalable_malloc(size));
      if (block == nullptr) TerminateProcess(GetCurrentProcess(), 101);
      std::memset(block, 1, size);
      block = static_cast<char*>(scalable_realloc(block, size + 70000));
      if (block == nullptr || (size != 0 && block[size - 1] != 1)) {
        TerminateProcess(GetCurrentProcess(), 102);
      }
      if (scalable_msize(block) < size + 70000) TerminateProcess(GetCurrentProcess(), 103);
      if (i % 2 == 0) scalable_free(block);
    }
  }
  return TRUE;
}
