// SPDX-License-Identifier: Apache-2.0
#include "sched/core/parked_threads.hpp"

namespace corbel::sched {

constinit ParkedThreads parked_threads;

bool ParkedThreads::unpark_idle() {
  return unpark_first(
      [](const Thread& t) { return t.arena == nullptr && t.wait_node.key == nullptr; });
}

}  // namespace corbel::sched
