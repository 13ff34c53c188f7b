// SPDX-License-Identifier: Apache-2.0
// Which blocks are lost: a conservative mark phase (H.-J. Boehm and M. Weiser, "Garbage Collection
// in an Uncooperative Environment", 1988), with the classes of Valgrind's Memcheck ("Memcheck: a
// memory error detector", Valgrind User Manual, 4.2.8).
//
//   reachable: pointers to the beginnings of blocks lead to it from the roots.
//   possible:  pointers lead to it, at least one of them into the middle of a block.
//   definite:  no pointer leads to it. Of definite leaks, one is direct and the others, which it
//              leads to, are indirect: they go when it is freed as it should be. A cycle of blocks
//              has one direct leak.
//
// A pointer counts as one to the beginning also
//   - within the first 16 bytes: a tag in the low bits, the count of elements that new[] stores
//     before an array, the header of two words that the C library stores before a thread's DTV;
//   - at the beginning of a later base class: both places hold the address of constant data of a
//     file, as objects with virtual functions do.
// A pointer just past a block's end counts as one into it, where no other block begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/block_table.hpp"
#include "alloc/leaks/ranges.hpp"
#include "alloc/leaks/scratch.hpp"

namespace corbel::alloc {

class Marking {
 public:
  // `constants` are the read-only mappings of files; `unreadable` what must not be read.
  Marking(BlockTable* blocks, const Ranges* constants, const Ranges* unreadable)
      : blocks_(blocks), constants_(constants), unreadable_(unreadable) {}

  // To be called first. False if there is no memory.
  bool set_up(Scratch* scratch);

  // Looks for pointers in a part of a root, and follows them.
  void scan_root(const std::uintptr_t* words, std::size_t count);

  // To be called after the last root: decides about the blocks that are not reachable. The blocks
  // that are lost with a leader have its index in `leader`; a direct leak is its own leader.
  void finish();

 private:
  void push(std::uint32_t block) { stack_[stack_size_++] = block; }
  void follow_strong(std::uintptr_t value);
  void follow_weak(std::uintptr_t value);
  void adopt(std::uint32_t leader, std::uintptr_t value);
  void drain_strong();
  bool is_like_beginning(const ScannedBlock& block, std::uintptr_t address) const;
  std::uint32_t leader_of(std::uint32_t block);

  BlockTable* blocks_;
  const Ranges* constants_;
  const Ranges* unreadable_;
  std::uint32_t* stack_ = nullptr;  // blocks whose words are still to be followed
  std::size_t stack_size_ = 0;
};

}  // namespace corbel::alloc
