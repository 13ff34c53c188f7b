// SPDX-License-Identifier: Apache-2.0
// Included before a kernel: its malloc and free become those of the tbbmalloc.dll that lies beside
// the program, Corbel's or oneTBB's.
#pragma once

#include <cstddef>
#include <cstdlib>

extern "C" {
__declspec(dllimport) void* scalable_malloc(std::size_t size);
__declspec(dllimport) void scalable_free(void* block);
}
namespace std {
using ::scalable_free;
using ::scalable_malloc;
}  // namespace std

#define malloc scalable_malloc
#define free scalable_free
