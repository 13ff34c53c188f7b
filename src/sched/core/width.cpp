// SPDX-License-Identifier: Apache-2.0
#include "sched/core/width.hpp"

#include "os/os.hpp"

namespace corbel::sched {

unsigned default_width() {
  static const unsigned width = os::usable_processors();
  return width;
}

}  // namespace corbel::sched
