// SPDX-License-Identifier: Apache-2.0
// The C run-time libraries of the process whose functions are replaced. Each has a heap of its own,
// perhaps; its own errno, new-handler and handler of invalid arguments, in any case. So each has
// replacements of its own, which know by their address whose they are.
#pragma once

#include <cstddef>

#include "proxy/windows/functions.hpp"

namespace corbel::proxy {

enum class Outcome : unsigned char {
  kAbsent,    // the library has no such function
  kReplaced,  // at its entry
  kInTables,  // in the tables of imports and exports, since the entry cannot be
  kRefused,   // not at all
};

// The reason of a function that could be replaced in tables alone, and was not.
inline constexpr char kTablesStay[] = "the tables of imports and exports cannot be changed";

struct Runtime {
  // What the functions were: copies of their entries (move_entry.hpp), or themselves if those are
  // as they were. nullptr if the library has none.
  const void* original[kFunctionCount];

  int* (*error_number)();
  int (*call_new_handler)(std::size_t size);
  int (*new_mode)();
  void (*invalid_argument)();

  // For the log.
  char name[40];
  Outcome outcome[kFunctionCount];
  const char* reason[kFunctionCount];
  unsigned char entry[kFunctionCount][11];  // the first bytes that the function had

  const unsigned char* base;  // nullptr: not in use
  void* code;                 // the jumps and copies for the functions
};

inline constexpr unsigned kMaxRuntimes = 12;
// Changed under the RuntimesLock alone, and no more while a function of the library is replaced.
extern Runtime runtimes[kMaxRuntimes];

// The replacements for a library that is kept in runtimes[number], by Function.
const void* const* replacements_for(unsigned number);

}  // namespace corbel::proxy
