// SPDX-License-Identifier: Apache-2.0
// The configuration macros, under their header's name in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_classic_source.h>
#include <oneapi/tbb/detail/_config.h>
