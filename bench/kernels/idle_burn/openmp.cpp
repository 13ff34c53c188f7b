// SPDX-License-Identifier: Apache-2.0
// Idle workers with OpenMP, whose idle threads wait as the runtime does by default.
#include "../openmp_width.hpp"
#include "idle_burn.hpp"

const bench::Kernel bench::kernel = idle_burn::description(idle_burn::run<bench::Width>);
