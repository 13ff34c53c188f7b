// SPDX-License-Identifier: Apache-2.0
// The sum of floats with the oneTBB API.
#include "../tbb_width.hpp"
#include "either_tbb.hpp"
