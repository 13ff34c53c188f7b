// SPDX-License-Identifier: Apache-2.0
// The interface to profilers, under its header's name in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/profiling.h>
