// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/marking.hpp"

#include "alloc/leaks/words.hpp"

namespace corbel::alloc {

namespace {

using BlockMark = ScannedBlock::Mark;

constexpr std::size_t kHeader = 16;

}  // namespace

bool Marking::set_up(Scratch* scratch) {
  // Each block is pushed once in each phase.
  stack_ = scratch->array<std::uint32_t>(blocks_->count());
  if (stack_ == nullptr) return false;
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    if ((*blocks_)[i].mark() == BlockMark::kReached) push(i);
  }
  return true;
}

bool Marking::is_like_beginning(const ScannedBlock& block, std::uintptr_t address) const {
  const std::uintptr_t offset = address - block.start;
  if (offset == 0) return true;
  if (offset >= block.size) return false;  // just past the end
  if (offset <= kHeader) return true;
  if (address % sizeof(ScannedWord) != 0 ||
      address + sizeof(ScannedWord) > block.start + block.size)
    return false;
  if (block.start % sizeof(ScannedWord) != 0 || unreadable_->has(block.start) ||
      unreadable_->has(address)) {
    return false;
  }
  return constants_->has(*scanned_word(block.start)) && constants_->has(*scanned_word(address));
}

void Marking::follow_strong(std::uintptr_t value) {
  const std::uint32_t i = blocks_->find(value);
  if (i == BlockTable::kNone) return;
  ScannedBlock& block = (*blocks_)[i];
  if (block.mark() == BlockMark::kReached) return;
  if (is_like_beginning(block, value)) {
    block.set_mark(BlockMark::kReached);
    push(i);
  } else {
    block.set_mark(BlockMark::kInterior);
  }
}

void Marking::drain_strong() {
  while (stack_size_ != 0) {
    const ScannedBlock& block = (*blocks_)[stack_[--stack_size_]];
    for_each_word(*unreadable_, block.start, block.size,
                  [&](std::uintptr_t value) { follow_strong(value); });
  }
}

void Marking::scan_root(const std::uintptr_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) follow_strong(words[i]);
  drain_strong();
}

void Marking::follow_weak(std::uintptr_t value) {
  const std::uint32_t i = blocks_->find(value);
  if (i == BlockTable::kNone) return;
  ScannedBlock& block = (*blocks_)[i];
  // A block with kInterior is on the stack already.
  if (block.mark() != BlockMark::kNone) return;
  block.set_mark(BlockMark::kPossible);
  push(i);
}

std::uint32_t Marking::leader_of(std::uint32_t block) {
  while ((*blocks_)[block].leader != block) {
    std::uint32_t& leader = (*blocks_)[block].leader;
    leader = (*blocks_)[leader].leader;
    block = leader;
  }
  return block;
}

// A block that has no leader yet gets this one. If the block is a direct leak itself, it becomes an
// indirect one, with all that it leads to.
void Marking::adopt(std::uint32_t leader, std::uintptr_t value) {
  const std::uint32_t i = blocks_->find(value);
  if (i == BlockTable::kNone || (*blocks_)[i].mark() != BlockMark::kNone) return;
  ScannedBlock& block = (*blocks_)[i];
  if (block.leader == ScannedBlock::kNoLeader) {
    block.leader = leader;
    push(i);
  } else if (block.leader == i && i != leader) {
    block.leader = leader;
  }
}

void Marking::finish() {
  drain_strong();
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    if ((*blocks_)[i].mark() == BlockMark::kInterior) push(i);
  }
  while (stack_size_ != 0) {
    ScannedBlock& block = (*blocks_)[stack_[--stack_size_]];
    block.set_mark(BlockMark::kPossible);
    for_each_word(*unreadable_, block.start, block.size,
                  [&](std::uintptr_t value) { follow_weak(value); });
  }
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    ScannedBlock& first = (*blocks_)[i];
    if (first.mark() != BlockMark::kNone || first.leader != ScannedBlock::kNoLeader) continue;
    first.leader = i;
    push(i);
    while (stack_size_ != 0) {
      const ScannedBlock& block = (*blocks_)[stack_[--stack_size_]];
      for_each_word(*unreadable_, block.start, block.size,
                    [&](std::uintptr_t value) { adopt(i, value); });
    }
  }
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    if ((*blocks_)[i].mark() == BlockMark::kNone) (*blocks_)[i].leader = leader_of(i);
  }
}

}  // namespace corbel::alloc
