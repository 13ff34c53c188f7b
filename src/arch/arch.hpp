// SPDX-License-Identifier: Apache-2.0
// What the libraries need to know of the processor.
#pragma once

#include "arch/memory_access.hpp"

namespace corbel::arch {

// How a function takes an object of two words. Windows has them by address, and a copy on the stack
// would keep the call from becoming a jump.
#if defined(_WIN32)
template <class T>
using TwoWords = const T&;
#else
template <class T>
using TwoWords = T;
#endif

}  // namespace corbel::arch

#if defined(__x86_64__)
#include "arch/x86_64/arch.hpp"
#elif defined(__aarch64__)
#include "arch/aarch64/arch.hpp"
#else
#error "Corbel supports x86-64 and aarch64"
#endif
