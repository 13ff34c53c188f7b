// SPDX-License-Identifier: Apache-2.0
// How many threads the process may use at once.
#include "os/os.hpp"
#include "sched/pool.hpp"

namespace corbel::sched {

unsigned default_width() {
  static const unsigned width = os::usable_processors();
  return width;
}

}  // namespace corbel::sched
