// SPDX-License-Identifier: Apache-2.0
// The memory of another process.
#pragma once

#include <windows.h>

#include <cstddef>

namespace corbel::cli {

// Copies `size` bytes; false when not all of them can be read, or written.
bool read_memory(HANDLE process, const char* from, void* to, std::size_t size);
// Memory that is not writable is, meanwhile.
bool write_memory(HANDLE process, char* to, const void* from, std::size_t size);

// Where the image of the program lies in `process`; nullptr if the system does not tell.
char* image_of(HANDLE process);

}  // namespace corbel::cli
