// SPDX-License-Identifier: Apache-2.0
// The exceptions of TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/classic/captured_exception.hpp>
#include <corbel/exceptions.hpp>

namespace tbb {
inline namespace v1 {
using corbel::bad_last_alloc;
using corbel::captured_exception;
using corbel::improper_lock;
using corbel::invalid_multiple_scheduling;
using corbel::missing_wait;
using corbel::movable_exception;
using corbel::tbb_exception;
using corbel::unsafe_wait;
using corbel::user_abort;
}  // namespace v1
}  // namespace tbb
