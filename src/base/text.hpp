// SPDX-License-Identifier: Apache-2.0
// Builds text without malloc, stdio or locale, for messages that must get out even when the heap is
// corrupt.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel {

// The add functions of all texts (CRTP). `Self` provides put(char).
template <class Self>
class TextBuilder {
 public:
  Self& add(const char* s) {
    while (s != nullptr && *s != '\0') put(*s++);
    return self();
  }

  Self& add_decimal(std::uint64_t n) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + n % 10);
      n /= 10;
    } while (n != 0);
    while (count > 0) put(digits[--count]);
    return self();
  }

  Self& add_hex(std::uint64_t n) {
    add("0x");
    int shift = 60;
    while (shift > 0 && (n >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[(n >> shift) & 15]);
    return self();
  }

  // With one decimal: the precision that suits a footprint.
  Self& add_mebibytes(std::uint64_t bytes) {
    const std::uint64_t tenths = (bytes * 10 + (1U << 19)) >> 20;
    return add_decimal(tenths / 10).add(".").add_decimal(tenths % 10).add(" MiB");
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  void put(char c) { self().put(c); }
};

// A text of at most kCapacity characters: one line, or a few.
template <std::size_t kCapacity>
class Text : public TextBuilder<Text<kCapacity>> {
 public:
  const char* data() const { return text_; }
  // Zero-terminated; valid until the next add.
  const char* c_str() {
    text_[size_ < kCapacity ? size_ : kCapacity - 1] = '\0';
    return text_;
  }
  std::size_t size() const { return size_; }

 private:
  friend class TextBuilder<Text>;

  // Text beyond the capacity is cut off, but the last character may still be a newline: a truncated
  // message is better than none.
  void put(char c) {
    if (size_ < kCapacity - 1 || (c == '\n' && size_ < kCapacity)) text_[size_++] = c;
  }

  std::size_t size_ = 0;
  char text_[kCapacity];
};

// A text in the caller's buffer, in the manner of snprintf: text that does not fit still counts.
class TextInto : public TextBuilder<TextInto> {
 public:
  TextInto(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  // Zero-terminates the buffer, if its capacity is not 0, and returns the length of the whole text
  // without the zero.
  std::size_t finish() {
    if (capacity_ != 0) buffer_[size_ < capacity_ ? size_ : capacity_ - 1] = '\0';
    return size_;
  }

 private:
  friend class TextBuilder<TextInto>;

  void put(char c) {
    if (size_ + 1 < capacity_) buffer_[size_] = c;
    ++size_;
  }

  char* buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace corbel
