// SPDX-License-Identifier: Apache-2.0
// For programs that include this header of TBB directly.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
