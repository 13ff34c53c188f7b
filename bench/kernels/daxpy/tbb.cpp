// SPDX-License-Identifier: Apache-2.0
// daxpy with the oneTBB API.
#include "../tbb_width.hpp"
#include "either_tbb.hpp"
