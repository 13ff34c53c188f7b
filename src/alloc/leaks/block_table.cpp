// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/block_table.hpp"

#include <algorithm>

#include "alloc/map/size_class.hpp"

namespace corbel::alloc {

namespace {

std::uintptr_t first_unit(const ScannedBlock& block) { return block.start / kUnit; }
// That of the address just past the end.
std::uintptr_t last_unit(const ScannedBlock& block) { return (block.start + block.size) / kUnit; }

}  // namespace

bool BlockTable::reserve(Scratch* scratch, std::size_t capacity) {
  if (capacity >= UINT32_MAX) return false;
  blocks_ = scratch->array<ScannedBlock>(capacity);
  capacity_ = std::uint32_t(capacity);
  return blocks_ != nullptr;
}

bool BlockTable::finish(Scratch* scratch) {
  std::sort(blocks_, blocks_ + count_,
            [](const ScannedBlock& a, const ScannedBlock& b) { return a.start < b.start; });
  std::size_t units = 0;
  std::uintptr_t next_unit = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const std::uintptr_t end = last_unit(blocks_[i]) + 1;
    units += end - std::min(end, std::max(first_unit(blocks_[i]), next_unit));
    next_unit = std::max(next_unit, end);
  }
  std::size_t capacity = 64;
  while (capacity < 2 * units) capacity *= 2;
  entries_ = scratch->array<Entry>(capacity);
  if (entries_ == nullptr) return false;
  entry_mask_ = capacity - 1;
  for (std::uint32_t i = 0; i < count_; ++i) {
    for (std::uintptr_t unit = first_unit(blocks_[i]); unit <= last_unit(blocks_[i]); ++unit) {
      Entry* entry = entry_of(unit);
      if (entry->unit == 0) *entry = {unit + 1, i, 0};
      entry->count = i - entry->first + 1;
    }
  }
  if (count_ != 0) {
    low_ = blocks_[0].start;
    high_ = blocks_[count_ - 1].start + blocks_[count_ - 1].size;
  }
  return true;
}

BlockTable::Entry* BlockTable::entry_of(std::uintptr_t unit) const {
  std::size_t i = (unit * 0x9e3779b97f4a7c15U) >> 20;
  for (;; ++i) {
    Entry* entry = &entries_[i & entry_mask_];
    if (entry->unit == unit + 1 || entry->unit == 0) return entry;
  }
}

std::uint32_t BlockTable::find_in_unit(std::uintptr_t address) const {
  if (count_ == 0) return kNone;
  const Entry* entry = entry_of(address / kUnit);
  if (entry->unit == 0) return kNone;
  const ScannedBlock* first = blocks_ + entry->first;
  const ScannedBlock* after =
      std::upper_bound(first, first + entry->count, address,
                       [](std::uintptr_t a, const ScannedBlock& block) { return a < block.start; });
  if (after == first) return kNone;
  const ScannedBlock* block = after - 1;
  return address - block->start <= block->size ? std::uint32_t(block - blocks_) : kNone;
}

}  // namespace corbel::alloc
