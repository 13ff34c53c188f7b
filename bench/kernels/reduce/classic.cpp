// SPDX-License-Identifier: Apache-2.0
// The sum of floats with the classic API.
#include "../classic_width.hpp"
#include "either_tbb.hpp"
