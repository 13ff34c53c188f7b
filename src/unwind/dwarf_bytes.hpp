// SPDX-License-Identifier: Apache-2.0
// Reads numbers of the DWARF format from bytes, within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace corbel::unwind {

class DwarfBytes {
 public:
  DwarfBytes() = default;
  DwarfBytes(const unsigned char* begin, const unsigned char* end) : at_(begin), end_(end) {}

  const unsigned char* at() const { return at_; }
  const unsigned char* end() const { return end_; }
  std::size_t left() const { return std::size_t(end_ - at_); }
  // A read went beyond the end, or met what this code does not understand. Then all reads return 0.
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

  template <class T>
  T get() {
    T value{};
    if (left() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void skip(std::uint64_t size) {
    if (left() < size) return fail();
    at_ += size;
  }

  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = get<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return std::int64_t(value);
    }
  }

  // A pointer in one of the encodings that occur in .eh_frame: absolute or relative to its place.
  std::uintptr_t pointer(std::uint8_t encoding) {
    constexpr std::uint8_t kRelative = 0x10;
    const auto place = reinterpret_cast<std::uintptr_t>(at_);
    std::uintptr_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:  // a whole address
      case 0x04:
      case 0x0c:
        value = get<std::uint64_t>();
        break;
      case 0x01:
        value = unsigned_leb();
        break;
      case 0x02:
        value = get<std::uint16_t>();
        break;
      case 0x03:
        value = get<std::uint32_t>();
        break;
      case 0x09:
        value = std::uintptr_t(signed_leb());
        break;
      case 0x0a:
        value = std::uintptr_t(std::intptr_t{get<std::int16_t>()});
        break;
      case 0x0b:
        value = std::uintptr_t(std::intptr_t{get<std::int32_t>()});
        break;
      default:
        fail();
    }
    if ((encoding & 0x70) == kRelative) return place + value;
    if ((encoding & 0x70) != 0) fail();
    return value;
  }

 private:
  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
  bool failed_ = false;
};

}  // namespace corbel::unwind
