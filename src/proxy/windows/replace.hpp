// SPDX-License-Identifier: Apache-2.0
// Replaces the functions of a library.
#pragma once

#include "proxy/windows/image.hpp"
#include "proxy/windows/runtime.hpp"

namespace corbel::proxy {

// Keeps the tables of this file's functions for one thread; taken without any other lock of ours,
// after the loader's if that is taken, and never by malloc or free. The loader's lock is not taken
// while a thread has it: the two would be taken in both orders.
class RuntimesLock {
 public:
  RuntimesLock();
  ~RuntimesLock();
  RuntimesLock(const RuntimesLock&) = delete;
  RuntimesLock& operator=(const RuntimesLock&) = delete;
};

// Whether a library of this name may be a C or C++ run-time library.
bool is_runtime_name(const char* name);

// Whether other threads may be executing the library's code.
enum class Threads { kNone, kMaybe };

// Replaces what is to be replaced in the library; nothing if it has none of it, or has been seen.
// Requires: the lock.
void replace_functions(const Image& image, const char* name, Threads threads);
// Whether there is something to be replaced in the library, but no room for it among the runtimes.
// Requires: the lock.
bool is_left_out(const Image& image, const char* name);
// The library goes away. Requires: the lock.
void forget(const void* base);

}  // namespace corbel::proxy
