// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace corbel::cli {

// Reads the fields of one message. Throws std::runtime_error where it is malformed.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Advances to the next field; false at the end of the message.
  bool next();
  unsigned field() const { return field_; }
  // The value of a field that is a number; the last one of packed numbers.
  std::uint64_t number() const { return number_; }
  std::int64_t signed_number() const { return static_cast<std::int64_t>(number_); }
  // The content of a field that is a text or a message.
  std::string_view bytes() const { return bytes_; }

  // Calls `take(number)` for the numbers of a repeated field, packed or not.
  template <typename Take>
  void numbers(Take&& take) const {
    if (!is_bytes_) return take(number_);
    for (std::string_view rest = bytes_; !rest.empty();) take(read_number(rest));
  }

 private:
  static std::uint64_t read_number(std::string_view& rest);

  std::string_view rest_, bytes_;
  std::uint64_t number_ = 0;
  unsigned field_ = 0;
  bool is_bytes_ = false;
};

// Appends fields to a message. Numbers and texts that are 0 or empty are left out, as the format
// wants it.
class WireWriter {
 public:
  void number(unsigned field, std::uint64_t value);
  void bytes(unsigned field, std::string_view value);
  // A field of a repeated one: written even if it is empty.
  void element(unsigned field, std::string_view value);

  template <typename Numbers>
  void packed(unsigned field, const Numbers& numbers) {
    std::string content;
    for (const auto number : numbers) append(content, static_cast<std::uint64_t>(number));
    bytes(field, content);
  }

  const std::string& text() const { return text_; }

 private:
  static void append(std::string& to, std::uint64_t value);

  std::string text_;
};

}  // namespace corbel::cli
