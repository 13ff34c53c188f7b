// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corbel::alloc {

// Where a report goes. put() returns false when it takes no more.
struct LeakSink {
  void* place;
  bool (*put)(void* place, const void* data, std::size_t size);
};

}  // namespace corbel::alloc
