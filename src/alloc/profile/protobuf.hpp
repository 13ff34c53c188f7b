// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding), as far as
// profile.proto needs it.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// A short message. A field that does not fit is left out.
class Message {
 public:
  // Fields of the value 0 are left out, as is usual: it is the default.
  Message& number(unsigned field, std::uint64_t value) {
    if (value == 0 || !fits(2 * kMaxVarint)) return *this;
    varint(field << 3 | kVarint);
    varint(value);
    return *this;
  }

  Message& bytes(unsigned field, const void* data, std::size_t size) {
    if (!fits(2 * kMaxVarint + size)) return *this;
    varint(field << 3 | kBytes);
    varint(size);
    memcpy(data_ + size_, data, size);
    size_ += size;
    return *this;
  }

  Message& message(unsigned field, const Message& value) {
    return bytes(field, value.data(), value.size());
  }

  // A number without its field. A packed array is a field of bytes that has such numbers.
  Message& packed(std::uint64_t value) {
    if (fits(kMaxVarint)) varint(value);
    return *this;
  }

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kCapacity = 1024;
  static constexpr unsigned kVarint = 0;
  static constexpr unsigned kBytes = 2;
  static constexpr std::size_t kMaxVarint = 10;

  bool fits(std::size_t size) const { return size_ + size <= kCapacity; }

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_[size_++] = char(value | 0x80);
    data_[size_++] = char(value);
  }

  std::size_t size_ = 0;
  char data_[kCapacity];
};

}  // namespace corbel::alloc
