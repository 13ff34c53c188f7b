// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/, with all names that this header had in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_classic_task.h>
#include <oneapi/tbb/task.h>
