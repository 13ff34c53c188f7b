// SPDX-License-Identifier: Apache-2.0
#include "block.hpp"

#include <cstring>

namespace corbel::stress {
namespace {

constexpr std::uint64_t kStep = 0xd1342543de82ef95U;
constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t first_difference(const unsigned char* a, const unsigned char* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return i;
  }
  return kAllGood;
}

}  // namespace

void fill(const Block& block) {
  std::uint64_t word = pattern_key(block);
  std::size_t offset = 0;
  for (; offset + kWord <= block.size; offset += kWord, word += kStep) {
    std::memcpy(block.address + offset, &word, kWord);
  }
  if (offset < block.size) std::memcpy(block.address + offset, &word, block.size - offset);
}

std::size_t check_moved(const Block& pattern, const unsigned char* address, std::size_t size) {
  std::uint64_t word = pattern_key(pattern);
  std::size_t offset = 0;
  for (; offset + kWord <= size; offset += kWord, word += kStep) {
    if (std::memcmp(address + offset, &word, kWord) != 0) break;
  }
  if (offset == size) return kAllGood;
  unsigned char expected[kWord];
  std::memcpy(expected, &word, kWord);
  const std::size_t n = size - offset < kWord ? size - offset : kWord;
  const std::size_t at = first_difference(address + offset, expected, n);
  return at == kAllGood ? kAllGood : offset + at;
}

std::size_t check(const Block& block, std::size_t size) {
  return check_moved(block, block.address, size);
}

std::size_t check_zero(const unsigned char* address, std::size_t size) {
  if (size == 0 || (address[0] == 0 && std::memcmp(address, address + 1, size - 1) == 0)) {
    return kAllGood;
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (address[i] != 0) return i;
  }
  return kAllGood;
}

}  // namespace corbel::stress
