// SPDX-License-Identifier: Apache-2.0
// A queue of 1,024 places between threads: see transfer.hpp.
#pragma once

#include "../transfer.hpp"

namespace bounded_queue {

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return transfer::description(
      "bounded_queue", "Bounded queue",
      "As with the queue, but it holds at most 1,024 items, so that a push may wait, too. "
      "The queues of TBB and the channel of crossbeam put waiting threads to sleep; with "
      "the others they try again and yield.",
      run);
}

}  // namespace bounded_queue
