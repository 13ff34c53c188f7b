// SPDX-License-Identifier: Apache-2.0
// A queue without a bound between threads: see transfer.hpp.
#pragma once

#include "../transfer.hpp"

namespace queue {

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return transfer::description(
      "queue", "Queue",
      "Half of the threads push numbers into one queue and the others pop them (transfer), "
      "or every thread does both, in bursts of 100 or in pairs. The figure is core time per "
      "item, and a thread that finds the queue empty tries again and yields.",
      run);
}

}  // namespace queue
