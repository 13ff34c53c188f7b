// SPDX-License-Identifier: Apache-2.0
// The ramp-up with OpenMP.
#include "../wide_loops_openmp.hpp"
#include "wide_start.hpp"

const bench::Kernel bench::kernel = wide::start_description(wide::start<wide::Loop>);
