// SPDX-License-Identifier: Apache-2.0
// Memory for code near a library: within the two GiB that a jump of five bytes reaches, and that
// the moved instructions of a function reach what they refer to from.
#pragma once

#include <cstddef>

#include "proxy/windows/image.hpp"

namespace corbel::proxy {

class CodeArea {
 public:
  // Above the library if possible: then its table of exports, too, can refer to the area.
  explicit CodeArea(const Image& image);

  bool is_there() const { return start_ != nullptr; }
  void* start() const { return start_; }

  // The next place to write to, at a multiple of 16; nullptr if there is no room for `size` bytes.
  unsigned char* next(std::size_t size) const {
    return kSize - used_ < size ? nullptr : start_ + used_;
  }
  void take(std::size_t size) { used_ += (size + 15) & ~std::size_t(15); }

  // Makes it executable, and no more writable.
  bool seal();
  static void release(void* start);
  // Whether an address is in the area that begins at `start`.
  static bool contains(const void* start, const void* address) {
    return std::size_t(static_cast<const char*>(address) - static_cast<const char*>(start)) < kSize;
  }

 private:
  static constexpr std::size_t kSize = 16 << 10;

  unsigned char* start_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace corbel::proxy
