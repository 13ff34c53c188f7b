// SPDX-License-Identifier: Apache-2.0
// Start-up with the classic API.
#include "../classic_width.hpp"
#include "start_up.hpp"

const bench::Kernel bench::kernel = start_up::description(start_up::run<bench::ColdWidth>);
