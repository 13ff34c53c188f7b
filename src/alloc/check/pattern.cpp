// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/pattern.hpp"

#include <string.h>

#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

using CanaryWord = std::uint64_t;
constexpr std::size_t kCanarySize = sizeof(CanaryWord);
constexpr CanaryWord kEveryByte = 0x0101010101010101;

constinit CanaryWord canary = 0;

CanaryWord load_word(const char* p) {
  CanaryWord word;
  memcpy(&word, p, kCanarySize);
  return word;
}

// The canary as it reads from `address` on.
CanaryWord canary_at(const char* address) {
  const auto shift = unsigned(address_of(address) % kCanarySize * 8);
  return shift == 0 ? canary : canary >> shift | canary << (64 - shift);
}

// Finds the first byte that differs from the bytes of `pattern`, repeated.
char* find_change(char* p, char* end, CanaryWord pattern) {
  constexpr std::size_t kWords = 8;
  for (; std::size_t(end - p) >= kWords * kCanarySize; p += kWords * kCanarySize) {
    CanaryWord changes = 0;
    for (std::size_t i = 0; i < kWords; ++i) changes |= load_word(p + i * kCanarySize) ^ pattern;
    if (changes != 0) break;
  }
  for (; std::size_t(end - p) >= kCanarySize; p += kCanarySize) {
    if (const CanaryWord change = load_word(p) ^ pattern) return p + __builtin_ctzll(change) / 8;
  }
  for (unsigned shift = 0; p != end; ++p, shift += 8) {
    if (static_cast<unsigned char>(*p) != (pattern >> shift & 0xff)) return p;
  }
  return end;
}

}  // namespace

void choose_canary() {
  canary = os::random_word() | kEveryByte * 0x80;
  for (CanaryWord byte = 0xff; byte != 0; byte <<= 8) {
    if ((canary & byte) == byte) canary ^= byte & kEveryByte;
  }
}

void fill_canary(char* begin, char* end) {
  const CanaryWord pattern = canary_at(begin);
  char* p = begin;
  for (; std::size_t(end - p) >= kCanarySize; p += kCanarySize) memcpy(p, &pattern, kCanarySize);
  for (unsigned shift = 0; p != end; ++p, shift += 8) *p = char(pattern >> shift & 0xff);
}

char* find_changed_canary(char* begin, char* end) {
  return find_change(begin, end, canary_at(begin));
}

char* find_changed_freed(char* begin, char* end) {
  return find_change(begin, end, kEveryByte * kFreedByte);
}

}  // namespace corbel::alloc
