// SPDX-License-Identifier: Apache-2.0
// A line of text put together without malloc, stdio or locale, for messages that must come out
// when the heap itself is in question.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel {

template <std::size_t kCapacity>
class Text {
 public:
  Text& add(const char* s) {
    while (s != nullptr && *s != '\0') put(*s++);
    return *this;
  }

  Text& add_decimal(std::uint64_t n) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + n % 10);
      n /= 10;
    } while (n != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }

  Text& add_hex(std::uint64_t n) {
    add("0x");
    int shift = 60;
    while (shift > 0 && (n >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[(n >> shift) & 15]);
    return *this;
  }

  // Tenths of a MiB are what a reader wants of a footprint.
  Text& add_mebibytes(std::uint64_t bytes) {
    const std::uint64_t tenths = (bytes * 10 + (1U << 19)) >> 20;
    return add_decimal(tenths / 10).add(".").add_decimal(tenths % 10).add(" MiB");
  }

  const char* data() const { return text_; }
  std::size_t size() const { return size_; }

 private:
  // Past the capacity the rest is cut off, but for the end of the line: a short message beats none.
  void put(char c) {
    if (size_ < kCapacity - 1 || (c == '\n' && size_ < kCapacity)) text_[size_++] = c;
  }

  std::size_t size_ = 0;
  char text_[kCapacity];
};

}  // namespace corbel
