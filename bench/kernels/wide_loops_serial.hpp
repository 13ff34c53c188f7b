// SPDX-License-Identifier: Apache-2.0
// The loops of wide_loops.hpp without a scheduler: their time is the work.
#pragma once

#include "wide_loops.hpp"

namespace wide {

class Loop {
 public:
  explicit Loop(unsigned) {}
  void operator()(const std::string&, const Bodies& bodies) {
    for (std::size_t i = 0; i < bodies.count(); ++i) bodies(i);
  }
};

}  // namespace wide
