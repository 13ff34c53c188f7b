// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/dirty_pages.hpp"

#include <string.h>

#include <bit>

#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr std::size_t kUnitsInWord = 4;

// Counts the units with a dirty page: each group of sixteen bits is folded into its lowest bit.
std::size_t units_in_word(std::uint64_t word) {
  word |= word >> 8;
  word |= word >> 4 & 0x000f'000f'000f'000fU;
  word |= word >> 2 & 0x0003'0003'0003'0003U;
  word |= word >> 1 & 0x0001'0001'0001'0001U;
  return std::size_t(std::popcount(word & 0x0001'0001'0001'0001U));
}

void add(DirtyCount* count, std::uint64_t word) {
  // Fast paths: usually all pages are clean, or all are dirty.
  if (word == 0) return;
  if (word == ~std::uint64_t(0)) {
    count->pages += 64;
    count->units += kUnitsInWord;
    return;
  }
  count->pages += std::size_t(std::popcount(word));
  count->units += units_in_word(word);
}

// Splits the units at the boundaries of leaves. Calls `work(masks, index, count)` for each part;
// `index` is the number of units before it.
template <class Work>
void in_each_leaf(const Span* first, std::size_t units, Work work) {
  for (std::size_t done = 0; done < units;) {
    const std::size_t unit = first->unit + done;
    const std::size_t left = kLeafEntries - unit % kLeafEntries;
    const std::size_t count = units - done < left ? units - done : left;
    work(page_masks(unit), done, count);
    done += count;
  }
}

}  // namespace

DirtyCount count_dirty(const Span* first, std::size_t units) {
  DirtyCount result{0, 0};
  in_each_leaf(first, units, [&](const PageMask* masks, std::size_t, std::size_t count) {
    std::size_t i = 0;
    for (; i + kUnitsInWord <= count; i += kUnitsInWord) {
      std::uint64_t word;
      memcpy(&word, masks + i, sizeof word);
      add(&result, word);
    }
    for (; i < count; ++i) add(&result, masks[i]);
  });
  return result;
}

std::size_t count_clean(const Span* first, std::size_t units) {
  std::size_t result = units;
  in_each_leaf(first, units, [&](const PageMask* masks, std::size_t done, std::size_t count) {
    if (result != units) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (masks[i] == 0) continue;
      result = done + i;
      return;
    }
  });
  return result;
}

void set_dirty(const Span* first, std::size_t units, std::size_t bytes) {
  bytes = align_up(bytes, os::page_size() > kDirtyPage ? os::page_size() : kDirtyPage);
  const std::size_t whole = bytes / kUnit;
  const auto rest = PageMask((1U << (bytes % kUnit / kDirtyPage)) - 1);
  in_each_leaf(first, units, [&](PageMask* masks, std::size_t done, std::size_t count) {
    std::size_t full = whole > done ? whole - done : 0;
    if (full > count) full = count;
    memset(masks, 0xff, full * sizeof(PageMask));
    memset(masks + full, 0, (count - full) * sizeof(PageMask));
    if (full < count && done + full == whole) masks[full] = rest;
  });
}

void clear_dirty(const Span* unit, unsigned pages) { *page_masks(unit->unit) &= PageMask(~pages); }

}  // namespace corbel::alloc
