// SPDX-License-Identifier: Apache-2.0
// Waking up with OpenMP, whose idle threads wait as the runtime does by default.
#include "../openmp_width.hpp"
#include "wake_up.hpp"

const bench::Kernel bench::kernel = wake_up::description(wake_up::run<bench::Width>);
