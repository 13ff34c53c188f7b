// SPDX-License-Identifier: Apache-2.0
// daxpy with the classic API.
#include "../classic_width.hpp"
#include "either_tbb.hpp"
