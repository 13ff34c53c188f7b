// SPDX-License-Identifier: Apache-2.0
// Start-up: no library to start; the cost of the measurement itself.
#include "../serial_width.hpp"
#include "start_up.hpp"

const bench::Kernel bench::kernel = start_up::description(start_up::run<bench::ColdWidth>);
