// SPDX-License-Identifier: Apache-2.0
// Some programs include this header of TBB directly.
#pragma once

#include <oneapi/tbb/detail/_namespace.h>
