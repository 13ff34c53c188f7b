// SPDX-License-Identifier: Apache-2.0
// The blocks of a scan, by address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/scratch.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

struct ScannedBlock {
  enum class Mark : std::uint8_t {
    kNone,      // nothing found leads to it
    kInterior,  // a pointer into it was found
    kPossible,  // it is reached, but only through pointers into blocks
    kReached,   // pointers to the beginnings of blocks lead to it
  };
  static constexpr std::uint32_t kNoLeader = UINT32_MAX;

  std::uintptr_t start;
  std::uint64_t size : 48;  // as requested
  std::uint64_t mark_bits : 8;
  StackId allocated_at;
  std::uint32_t leader;  // of a block that is lost: the one it is lost with (marking.hpp)

  Mark mark() const { return Mark(mark_bits); }
  void set_mark(Mark mark) { mark_bits = std::uint8_t(mark); }
};
static_assert(sizeof(ScannedBlock) == 24);

class BlockTable {
 public:
  // Makes room for `capacity` blocks. False if there is no memory.
  bool reserve(Scratch* scratch, std::size_t capacity);

  // Requires: there is room left.
  void add(std::uintptr_t start, std::size_t size, StackId allocated_at, ScannedBlock::Mark mark) {
    blocks_[count_++] = {start, size, std::uint8_t(mark), allocated_at, ScannedBlock::kNoLeader};
  }
  std::uint32_t capacity() const { return capacity_; }

  // To be called after the last add(), before the functions below. False if there is no memory.
  bool finish(Scratch* scratch);

  std::uint32_t count() const { return count_; }
  ScannedBlock& operator[](std::uint32_t i) { return blocks_[i]; }
  const ScannedBlock& operator[](std::uint32_t i) const { return blocks_[i]; }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  // The block that `address` points into: to one of its bytes, or, where no other block begins,
  // just past its end. kNone if there is none.
  std::uint32_t find(std::uintptr_t address) const {
    return address < low_ || address > high_ ? kNone : find_in_unit(address);
  }

 private:
  // The blocks that overlap a unit.
  struct Entry {
    std::uint64_t unit;  // its number plus 1; 0: the entry is empty
    std::uint32_t first, count;
  };

  std::uint32_t find_in_unit(std::uintptr_t address) const;
  Entry* entry_of(std::uintptr_t unit) const;

  ScannedBlock* blocks_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = 0;
  std::uintptr_t low_ = 0, high_ = 0;
  Entry* entries_ = nullptr;  // a hash table with linear probing
  std::size_t entry_mask_ = 0;
};

}  // namespace corbel::alloc
