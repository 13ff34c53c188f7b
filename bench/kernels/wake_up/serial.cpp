// SPDX-License-Identifier: Apache-2.0
// Waking up: one body and no thread to wake; the cost of the measurement itself.
#include "../serial_width.hpp"
#include "wake_up.hpp"

const bench::Kernel bench::kernel = wake_up::description(wake_up::run<bench::Width>);
