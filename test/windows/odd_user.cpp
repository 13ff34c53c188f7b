// SPDX-License-Identifier: Apache-2.0
// A library that imports functions of the odd one.
#include <cstddef>

extern "C" {
__declspec(dllimport) void* malloc(std::size_t);
__declspec(dllimport) void* realloc(void*, std::size_t);
__declspec(dllimport) void free(void*);
__declspec(dllimport) void* _aligned_malloc(std::size_t, std::size_t);

__declspec(dllexport) void* use_malloc(std::size_t size) { return malloc(size); }
__declspec(dllexport) void* use_realloc(void* block, std::size_t size) {
  return realloc(block, size);
}
__declspec(dllexport) void* use_aligned_malloc(std::size_t size, std::size_t alignment) {
  return _aligned_malloc(size, alignment);
}
__declspec(dllexport) void use_free(void* block) { free(block); }

int bare_start() { return 1; }
}
