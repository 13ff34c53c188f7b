// SPDX-License-Identifier: Apache-2.0
// Waking up with the oneTBB API.
#include "../tbb_width.hpp"
#include "wake_up.hpp"

const bench::Kernel bench::kernel = wake_up::description(wake_up::run<bench::Width>);
