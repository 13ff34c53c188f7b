// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): a call of the program's code that no
// exception may leave.
#pragma once

#include <cstddef>

namespace corbel::os {

// Calls the function. An exception that leaves it finds no handler further up and ends the process.
// Requires: the caller's file has no unwind tables, where the system gets along without.
#if defined(_WIN32)
int call_without_exceptions(int (*function)(void*, std::size_t), void* first, std::size_t second);
#else
__attribute__((always_inline)) inline int call_without_exceptions(int (*function)(void*,
                                                                                  std::size_t),
                                                                  void* first, std::size_t second) {
  return function(first, second);
}
#endif

}  // namespace corbel::os
