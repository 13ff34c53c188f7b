// SPDX-License-Identifier: Apache-2.0
// The switches, under the name that classic TBB gave the header.
#pragma once

#include <oneapi/tbb/detail/_config.h>
