// SPDX-License-Identifier: Apache-2.0
// What the libraries need to know of the processor.
#pragma once

#include "arch/memory_access.hpp"

#if defined(__x86_64__)
#include "arch/x86_64/arch.hpp"
#elif defined(__aarch64__)
#include "arch/aarch64/arch.hpp"
#else
#error "Corbel supports x86-64 and aarch64"
#endif
