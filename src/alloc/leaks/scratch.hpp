// SPDX-License-Identifier: Apache-2.0
// The memory of a scan, straight from the system: the program's threads may hold any lock of the
// allocator while they are stopped. No root of the scan: it is full of addresses of blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (unsigned i = 0; i < count_; ++i) os::unmap(areas_[i].start, areas_[i].size);
  }

  // Zeroed memory for `count` objects, valid as long as this. nullptr when there is none; then
  // failed() is true, too.
  template <class T>
  T* array(std::size_t count) {
    return static_cast<T*>(get(count * sizeof(T)));
  }
  bool failed() const { return failed_; }

  // Calls visit(start, end) for each area.
  template <class Visit>
  void for_each_area(Visit visit) const {
    for (unsigned i = 0; i < count_; ++i) {
      visit(address_of(areas_[i].start), address_of(areas_[i].start) + areas_[i].size);
    }
  }

 private:
  static constexpr unsigned kMaxAreas = 16;
  static constexpr std::size_t kGrain = std::size_t(64) << 10;  // what os::map() wants

  struct Area {
    void* start;
    std::size_t size;
  };

  void* get(std::size_t size) {
    size = align_up(size == 0 ? 1 : size, kGrain);
    void* memory = count_ < kMaxAreas ? os::map(size, kGrain, nullptr) : nullptr;
    if (memory == nullptr) {
      failed_ = true;
      return nullptr;
    }
    areas_[count_++] = {memory, size};
    return memory;
  }

  Area areas_[kMaxAreas];
  unsigned count_ = 0;
  bool failed_ = false;
};

}  // namespace corbel::alloc
