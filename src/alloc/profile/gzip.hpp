// SPDX-License-Identifier: Apache-2.0
// A gzip file without compression (RFC 1951 and 1952), which every reader of gzip files accepts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::alloc {

namespace gzip {

// Of the polynomial 0xedb88320, for a byte at a time.
inline constexpr auto kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320 ^ c >> 1 : c >> 1;
    table[i] = c;
  }
  return table;
}();

constexpr std::uint32_t crc32(const char* data, std::size_t size) {
  std::uint32_t crc = ~std::uint32_t(0);
  for (std::size_t i = 0; i < size; ++i) {
    crc = kCrcTable[(crc ^ static_cast<unsigned char>(data[i])) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}
static_assert(crc32("123456789", 9) == 0xcbf43926);

}  // namespace gzip

// Writes `data` as the content of a gzip file. Returns false after an error of the file.
inline bool write_gzip(os::OutputFile& file, const char* data, std::size_t size) {
  constexpr std::size_t kMaxStored = 65535;
  constexpr unsigned char kHeader[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
  file.write(kHeader, sizeof kHeader);
  std::size_t done = 0;
  do {
    const std::size_t part = std::min(size - done, kMaxStored);
    const bool is_last = done + part == size;
    const unsigned char stored[] = {
        is_last, static_cast<unsigned char>(part), static_cast<unsigned char>(part >> 8),
        static_cast<unsigned char>(~part), static_cast<unsigned char>(~part >> 8)};
    file.write(stored, sizeof stored);
    file.write(data + done, part);
    done += part;
  } while (done != size);
  unsigned char trailer[8];
  const std::uint32_t crc = gzip::crc32(data, size);
  for (unsigned i = 0; i < 4; ++i) {
    trailer[i] = static_cast<unsigned char>(crc >> (8 * i));
    trailer[4 + i] = static_cast<unsigned char>(size >> (8 * i));
  }
  return file.write(trailer, sizeof trailer);
}

}  // namespace corbel::alloc
