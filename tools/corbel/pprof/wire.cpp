// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers.
#include "pprof/wire.hpp"

#include <stdexcept>

namespace corbel::cli {
namespace {

enum WireType : unsigned { kNumber = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

[[noreturn]] void malformed() { throw std::runtime_error("malformed"); }

std::string_view take(std::string_view& rest, std::uint64_t size) {
  if (size > rest.size()) malformed();
  const std::string_view taken = rest.substr(0, size);
  rest.remove_prefix(size);
  return taken;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

std::uint64_t WireReader::read_number(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(rest, 1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  malformed();
}

bool WireReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t key = read_number(rest_);
  if (key >> 3 == 0 || key >> 3 > 1u << 29) malformed();
  field_ = static_cast<unsigned>(key >> 3);
  number_ = 0;
  bytes_ = {};
  is_bytes_ = false;
  switch (key & 7) {
    case kNumber:
      number_ = read_number(rest_);
      break;
    case kFixed64:
      number_ = little_endian(take(rest_, 8));
      break;
    case kFixed32:
      number_ = little_endian(take(rest_, 4));
      break;
    case kBytes:
      is_bytes_ = true;
      bytes_ = take(rest_, read_number(rest_));
      break;
    default:
      malformed();
  }
  return true;
}

void WireWriter::append(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void WireWriter::number(unsigned field, std::uint64_t value) {
  if (value == 0) return;
  append(text_, field << 3 | kNumber);
  append(text_, value);
}

void WireWriter::bytes(unsigned field, std::string_view value) {
  if (!value.empty()) element(field, value);
}

void WireWriter::element(unsigned field, std::string_view value) {
  append(text_, field << 3 | kBytes);
  append(text_, value.size());
  text_ += value;
}

}  // namespace corbel::cli
