// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): functions of another of Corbel's
// libraries, which the process may lack.
//
//   CORBEL_OPTIONAL(scalable_free)  // at the top of a file, after the function's declaration
//   CORBEL_FIND(scalable_free)      // its address, or nullptr; the same at every call
//   CORBEL_FIND_AS(function, name)  // of a C++ function: `name` is the one it has in the DLL
//
// On Linux the dynamic linker, or the linker of a static program, decides when the library is
// loaded. Windows has no such references: find_in_allocator() looks for the allocator's DLL at the
// first call.
#pragma once

#include <cstddef>

namespace corbel::os {

// For the scheduler in a process without Corbel's allocator: memory of the C library, and its
// release. `alignment` is a power of two. Returns nullptr if there is none. May change errno.
void* libc_allocate(std::size_t size, std::size_t alignment);
void libc_free(void* block);

}  // namespace corbel::os

#if defined(_WIN32)

namespace corbel::os {

const void* find_in_allocator(const char* name);

}  // namespace corbel::os

#define CORBEL_OPTIONAL(function)
#define CORBEL_FIND(function) CORBEL_FIND_AS(function, function)
#define CORBEL_FIND_AS(function, name)                               \
  ([] {                                                              \
    static const auto found = reinterpret_cast<decltype(&function)>( \
        const_cast<void*>(::corbel::os::find_in_allocator(#name)));  \
    return found;                                                    \
  }())

#else

#define CORBEL_OPTIONAL_PRAGMA(text) _Pragma(#text)
#define CORBEL_OPTIONAL(function) CORBEL_OPTIONAL_PRAGMA(weak function)
#define CORBEL_FIND(function) (&function)
#define CORBEL_FIND_AS(function, name) (&function)

#endif
