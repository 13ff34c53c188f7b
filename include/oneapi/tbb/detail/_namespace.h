// SPDX-License-Identifier: Apache-2.0
// The two names of the TBB namespace, and whether exceptions are enabled.
#pragma once

#include <oneapi/tbb/detail/_interfaces.h>
#include <oneapi/tbb/version.h>

#ifndef TBB_USE_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define TBB_USE_EXCEPTIONS 1
#else
#define TBB_USE_EXCEPTIONS 0
#endif
#endif

namespace tbb {}
namespace oneapi {
namespace tbb = ::tbb;
}
