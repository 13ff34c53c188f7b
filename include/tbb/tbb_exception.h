// SPDX-License-Identifier: Apache-2.0
// Exceptions, under their header's name in TBB 2020.
#pragma once

#include <oneapi/tbb/detail/_classic_exceptions.h>
#include <oneapi/tbb/detail/_classic_source.h>
