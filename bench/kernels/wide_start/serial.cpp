// SPDX-License-Identifier: Apache-2.0
// The ramp-up without a scheduler.
#include "../wide_loops_serial.hpp"
#include "wide_start.hpp"

const bench::Kernel bench::kernel = wide::start_description(wide::start<wide::Loop>);
