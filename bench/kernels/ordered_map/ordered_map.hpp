// SPDX-License-Identifier: Apache-2.0
// Threads insert into one concurrent_map, or look up keys of which half are in it: see
// insert_find.hpp.
#pragma once

#include "../insert_find.hpp"

namespace ordered_map {

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return insert_find::description(
      "ordered_map", "Ordered map",
      "Threads insert into one concurrent_map, or look up keys of which half are in it. The "
      "figure is core time per operation, and the serial program has a std::map.",
      run);
}

}  // namespace ordered_map
