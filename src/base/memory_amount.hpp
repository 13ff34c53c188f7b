// SPDX-License-Identifier: Apache-2.0
// An amount of memory as people write it: 400M, 1.5GiB, 80%, auto, none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel {

struct MemoryAmount {
  enum class Kind {
    kBytes,
    kShare,  // of the available memory, in hundredths of a per cent
    kAuto,
  };
  Kind kind = Kind::kBytes;
  std::size_t value = 0;  // 0 bytes: none
};

inline constexpr char kMemoryAmountForms[] =
    "bytes (400M, 1.5G; K, M, G, T), a share (80%), auto, or none";

namespace memory_amount {

constexpr bool same_word(const char* text, const char* word) {
  while (*word != '\0' && *text == *word) ++text, ++word;
  return *text == *word;
}

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

// The unit that the whole of `text` names: "", B, K, KB, KiB, ...; 0 for anything else.
constexpr std::size_t unit_of(const char* text) {
  std::size_t unit = 1;
  const char first = upper(*text);
  const char* const letters = "KMGT";
  for (unsigned i = 0; i < 4; ++i) {
    if (first == letters[i]) unit = std::size_t(1) << (10 * (i + 1));
  }
  if (unit != 1) ++text;
  if (unit != 1 && upper(text[0]) == 'I' && upper(text[1]) == 'B')
    return text[2] == '\0' ? unit : 0;
  if (upper(*text) == 'B') ++text;
  return *text == '\0' ? unit : 0;
}

// Computes *result = number / 10^decimals * unit. False when the result is too large.
constexpr bool scale(std::size_t number, unsigned decimals, std::size_t unit, std::size_t* result) {
  std::size_t divisor = 1;
  while (decimals-- > 0) divisor *= 10;
  const std::size_t whole = number / divisor;
  if (whole > std::size_t(PTRDIFF_MAX) / unit) return false;
  // No overflow: the product is at most 10^6 * 2^40, because of kMaxDecimals.
  *result = whole * unit + number % divisor * unit / divisor;
  return *result <= std::size_t(PTRDIFF_MAX);
}

inline constexpr unsigned kMaxDecimals = 6;

}  // namespace memory_amount

// False when `text` has none of kMemoryAmountForms.
constexpr bool parse_memory_amount(const char* text, MemoryAmount* amount) {
  using Kind = MemoryAmount::Kind;
  if (memory_amount::same_word(text, "auto")) return *amount = {Kind::kAuto, 0}, true;
  if (memory_amount::same_word(text, "none")) return *amount = {Kind::kBytes, 0}, true;
  std::size_t number = 0;
  unsigned digits = 0;
  unsigned decimals = 0;
  bool point = false;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point && digits != 0); ++text) {
    if (*text == '.') {
      point = true;
      continue;
    }
    if (number > (SIZE_MAX - 9) / 10 || decimals == memory_amount::kMaxDecimals) return false;
    number = number * 10 + std::size_t(*text - '0');
    ++digits;
    if (point) ++decimals;
  }
  if (digits == 0 || (point && decimals == 0)) return false;
  std::size_t value = 0;
  if (text[0] == '%' && text[1] == '\0') {
    if (!memory_amount::scale(number, decimals, 100, &value)) return false;
    if (value == 0 || value > 100 * 100) return false;
    return *amount = {Kind::kShare, value}, true;
  }
  const std::size_t unit = memory_amount::unit_of(text);
  // A fraction of a byte is a mistake.
  if (unit == 0 || (point && unit == 1)) return false;
  if (!memory_amount::scale(number, decimals, unit, &value)) return false;
  return *amount = {Kind::kBytes, value}, true;
}

}  // namespace corbel
