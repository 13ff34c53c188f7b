// SPDX-License-Identifier: Apache-2.0
// Forward to the name under oneapi/.
#pragma once

#include <oneapi/tbb/concurrent_lru_cache.h>
