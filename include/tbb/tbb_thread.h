// SPDX-License-Identifier: Apache-2.0
// The thread of TBB 2020. Not under oneapi/tbb or in tbb.h: its names would collide with those of
// std in programs that use both namespaces.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_namespace.h>
#include <oneapi/tbb/tick_count.h>
#include <tbb/tbb_stddef.h>
#include <corbel/classic/tbb_thread.hpp>

namespace tbb {
inline namespace v1 {
using corbel::move;
using corbel::swap;
using corbel::tbb_thread;
namespace this_tbb_thread = corbel::this_tbb_thread;
}  // namespace v1
}  // namespace tbb
