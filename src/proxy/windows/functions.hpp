// SPDX-License-Identifier: Apache-2.0
// The functions of C and C++ run-time libraries that are replaced, by the names under which
// Microsoft's libraries, and those of the same names in Wine, export them. What a library lacks is
// passed over.
//
// A debug function has the arguments of the one that it stands for, then others, which a function
// that does not know them ignores: the caller removes all arguments from the stack. So both have
// one replacement. The _base functions are what ucrtbase's own code calls, the _crt functions what
// that of the libraries before it calls. _strdup and its kind call one of all these.
#pragma once

#include <cstddef>

namespace corbel::proxy {

enum Function : unsigned {
#define CORBEL_FUNCTION(constant, name, replacement, family) constant,
#include "proxy/windows/functions.inc"
  kFunctionCount
};

// In this order: those that only take blocks, those that take and give some, those that only give.
inline constexpr unsigned kFirstThatGives = kRealloc;
inline constexpr unsigned kFirstThatTakesNone = kMalloc;

// What is replaced together or not at all: a block of one of these functions may go to any other.
enum class Family : unsigned char {
  // Takes no block, and its original gives a whole one of malloc, or one of the library's own: the
  // replaced functions know whose it is.
  kAny,
  // Takes blocks. Or its original gives one that lies inside a block of _malloc_base, as the
  // functions of debug libraries do.
  kPlain,
  // Takes aligned blocks, or gives them: the originals' blocks lie inside blocks of malloc. If
  // these originals stay, they work on the replaced malloc and free.
  kAligned,
};

struct FunctionInfo {
  const char* name;
  Family family;
};
extern const FunctionInfo kFunctionInfo[kFunctionCount];

}  // namespace corbel::proxy
