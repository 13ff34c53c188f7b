// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): the errno that the program reads. On
// Windows each C runtime has its own, a process may have several, and which of them the caller will
// read is not known.
#pragma once

#include <errno.h>

namespace corbel::os {

// Sets errno, of all runtimes that are loaded.
#if defined(_WIN32)
void set_errno(int number);
#else
inline void set_errno(int number) { errno = number; }
#endif

// Its value, of one of them.
#if defined(_WIN32)
int get_errno();
#else
inline int get_errno() { return errno; }
#endif

}  // namespace corbel::os
