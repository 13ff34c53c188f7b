// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/image.hpp"

#include <string.h>

#include <algorithm>

namespace corbel::proxy {
namespace {

// Distances in the header, from its signature on.
constexpr std::uint32_t kMachine = 4;
constexpr std::uint32_t kSectionCount = 6;
constexpr std::uint32_t kOptionalSize = 20;
constexpr std::uint32_t kOptional = 24;
constexpr std::uint32_t kImageSize = kOptional + 56;
constexpr std::uint32_t kPartCount = kOptional + 108;
constexpr std::uint32_t kParts = kOptional + 112;

constexpr std::uint16_t kAmd64 = 0x8664;
constexpr std::uint16_t kPe32Plus = 0x20b;

std::uint16_t u16(const unsigned char* at) { return *reinterpret_cast<const std::uint16_t*>(at); }

}  // namespace

std::size_t Image::size() const {
  if (base_ == nullptr || u16(base_) != 0x5a4d) return 0;
  const std::uint32_t h = header();
  if (u32(h) != 0x4550 || u16(base_ + h + kMachine) != kAmd64) return 0;
  if (u16(base_ + h + kOptional) != kPe32Plus) return 0;
  return u32(h + kImageSize);
}

Image::Part Image::part(unsigned number) const {
  const std::size_t all = size();
  if (all == 0 || u32(header() + kPartCount) <= number) return {};
  const std::uint32_t at = header() + kParts + 8 * number;
  const Part found{u32(at), u32(at + 4)};
  return found.start < all && found.size <= all - found.start ? found : Part{};
}

std::uint32_t* Image::find_export(const char* name) const {
  const Part exports = part(0);
  if (exports.size < 40) return nullptr;
  const std::uint32_t name_count = u32(exports.start + 24);
  const std::uint32_t functions = u32(exports.start + 28);
  const std::uint32_t names = u32(exports.start + 32);
  const std::uint32_t numbers = u32(exports.start + 36);
  // The names are in order.
  std::uint32_t low = 0, high = name_count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const int order = strcmp(name, reinterpret_cast<const char*>(base_ + u32(names + 4 * middle)));
    if (order == 0) {
      const std::uint32_t word = functions + 4 * u16(base_ + numbers + 2 * middle);
      const std::uint32_t function = u32(word);
      // Among the exports lies the name of a function of another library.
      if (function == 0 || function - exports.start < exports.size) return nullptr;
      return reinterpret_cast<std::uint32_t*>(const_cast<unsigned char*>(base_ + word));
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return nullptr;
}

std::uint32_t Image::end_of_section(std::uint32_t at) const {
  const std::uint32_t h = header();
  const unsigned count = u16(base_ + h + kSectionCount);
  const std::uint32_t sections = h + kOptional + u16(base_ + h + kOptionalSize);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t section = sections + 40 * i;
    const std::uint32_t start = u32(section + 12);
    const std::uint32_t bytes = u32(section + 8);
    if (at - start < bytes) return start + bytes;
  }
  return at;
}

std::size_t Image::bytes_of(const unsigned char* function, std::size_t limit) const {
  const auto at = static_cast<std::uint32_t>(function - base_);
  std::uint32_t end = end_of_section(at);
  // The table for exceptions: the beginnings and ends of functions, in order. Functions that call
  // nothing may lack in it.
  const Part table = part(3);
  std::uint32_t low = 0, high = table.size / 12;
  while (low < high) {  // the first that begins after this one
    const std::uint32_t middle = low + (high - low) / 2;
    if (u32(table.start + 12 * middle) > at) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low < table.size / 12) end = std::min(end, u32(table.start + 12 * low));
  return std::min(std::size_t(end - at), limit);
}

}  // namespace corbel::proxy
