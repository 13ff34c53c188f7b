// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/findings.hpp"

#include <algorithm>
#include <tuple>

namespace corbel::alloc {

void LeakFindings::sort_places() {
  std::sort(places_, places_ + place_count_, [](const LeakPlace& a, const LeakPlace& b) {
    return std::tuple(a.kind, b.all_bytes(), a.stack) < std::tuple(b.kind, a.all_bytes(), b.stack);
  });
}

}  // namespace corbel::alloc
