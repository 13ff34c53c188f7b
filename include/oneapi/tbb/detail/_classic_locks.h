// SPDX-License-Identifier: Apache-2.0
// The locks that only TBB 2020 had, without what their headers included there.
#pragma once

#include <oneapi/tbb/profiling.h>
#include <corbel/classic/critical_section.hpp>
#include <corbel/classic/reader_writer_lock.hpp>

namespace tbb {
inline namespace v1 {
using corbel::critical_section;
using corbel::reader_writer_lock;
}  // namespace v1
}  // namespace tbb
