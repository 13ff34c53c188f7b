// SPDX-License-Identifier: Apache-2.0
// The ramp-up with the oneTBB API.
#include "../wide_loops_tbb.hpp"
#include "wide_start.hpp"

const bench::Kernel bench::kernel = wide::start_description(wide::start<wide::Loop>);
