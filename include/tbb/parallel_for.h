// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, and to what this header brought along in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_brought_along.h>
#include <oneapi/tbb/parallel_for.h>
