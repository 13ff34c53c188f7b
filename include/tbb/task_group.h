// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/; the group that only TBB 2020 had; and what this header brought
// along there.
#pragma once

#include <oneapi/tbb/detail/_brought_along.h>
#include <oneapi/tbb/detail/_structured_task_group.h>
#include <oneapi/tbb/task_group.h>
