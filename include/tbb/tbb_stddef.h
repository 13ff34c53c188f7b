/* SPDX-License-Identifier: Apache-2.0
   Where older TBB kept its version numbers. */
#pragma once

#include <oneapi/tbb/version.h>
