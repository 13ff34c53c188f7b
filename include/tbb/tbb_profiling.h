// SPDX-License-Identifier: Apache-2.0
// Names for profilers, under the name that classic TBB gave the header.
#pragma once

#include <oneapi/tbb/profiling.h>
