// SPDX-License-Identifier: Apache-2.0
// The addresses of the code that a function of Corbel belongs to.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::unwind {

struct CodeRange {
  std::uintptr_t low = 0, high = 0;

  // Whether `address` returns into the range.
  bool has_return(const void* address) const {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return low < a && a <= high;
  }
};

// The library whose code calls this; the program, where Corbel is linked statically.
__attribute__((always_inline)) inline CodeRange own_code() {
  const os::OwnImage image = os::own_image();
  return {image.start, image.code_end};
}

}  // namespace corbel::unwind
