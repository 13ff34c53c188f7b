// SPDX-License-Identifier: Apache-2.0
// The width of a serial program, always one thread, so that all programs of a kernel share its
// code.
#pragma once

#include <cstddef>

namespace bench {

class Width {
 public:
  explicit Width(unsigned) {}

  template <typename Work>
  auto run(const Work& work) {
    return work();
  }

  template <typename Body>
  void each(std::size_t count, const Body& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
};

using ColdWidth = Width;  // there is nothing to warm

}  // namespace bench
