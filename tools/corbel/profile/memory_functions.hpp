// SPDX-License-Identifier: Apache-2.0
// What a function has to do with memory management, by its name and its file.
#pragma once

#include <string>
#include <string_view>

namespace corbel::cli {

enum class MemoryFunction {
  kNone,
  kAllocate,
  kFree,
  kReallocate,
  kInside,  // of an allocator
};

// `module` is the file that has the code, such as /usr/lib/libfoo.so.1. Knows the functions of C
// and C++ and those of the usual allocators: je_malloc, mi_malloc, tc_malloc, scalable_malloc.
MemoryFunction memory_function(const std::string& name, const std::string& module);

// What a function inside of an allocator does, as far as its name says it. The function that the
// program called may not be in the stack, because it has ended with the call of this one.
MemoryFunction purpose_inside(std::string_view name);

// Whether the function waits for a lock: a futex wait, or the lock function of a mutex.
bool is_lock_function(std::string_view name);
// Whether it is the wait itself, not the lock function that has led to it.
bool is_lock_wait(std::string_view name);

// What an allocator does when its lists do not have the block that is asked for.
enum class SlowWork {
  kNone,
  kMerging,  // of the fragments that freed blocks have left
  kSystem,   // asks the system for memory, or returns some
};
SlowWork slow_work(std::string_view name);

// memcpy, memmove and mremap, by the names that they have in the C library.
bool is_copy(std::string_view name);

// "vector", "string", "deque" or "hash table" if the function makes such a container larger by
// another block into which it moves the elements; else empty. Functions that do it only sometimes
// count if `allocates`: a request for memory was seen below them.
std::string_view growing_container(std::string_view name, bool allocates);

// Whether the file is part of the C or C++ library or the loader. Its functions work for their
// callers.
bool is_system_module(const std::string& module);
bool is_loader_module(const std::string& module);

}  // namespace corbel::cli
