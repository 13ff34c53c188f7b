// SPDX-License-Identifier: Apache-2.0
// Idle workers with the oneTBB API.
#include "../tbb_width.hpp"
#include "idle_burn.hpp"

const bench::Kernel bench::kernel = idle_burn::description(idle_burn::run<bench::Width>);
