// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/marking.hpp"

#include "os/os.hpp"

namespace corbel::alloc {

namespace {

using BlockMark = ScannedBlock::Mark;

constexpr std::size_t kHeader = 16;

// Of a larger block, only the pages that have been touched are read: reading the others would make
// the system fill them in.
constexpr std::size_t kTouchedOnly = std::size_t(1) << 20;

// A word of the program's, whatever its type is.
using Word [[gnu::may_alias]] = std::uintptr_t;

const Word* words_at(std::uintptr_t address) { return reinterpret_cast<const Word*>(address); }

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

template <class Each>
void Marking::for_each_word(const ScannedBlock& block, Each each) const {
  const std::uintptr_t start = align_up(block.start, sizeof(Word));
  const std::uintptr_t end = align_down(block.start + block.size, sizeof(Word));
  const auto read = [&](std::uintptr_t from, std::uintptr_t to) {
    unreadable_->for_each_gap(from, to, [&](std::uintptr_t a, std::uintptr_t b) {
      for (const Word* p = words_at(a); p < words_at(b); ++p) each(std::uintptr_t(*p));
    });
  };
  if (start >= end) return;
  const std::size_t page = os::page_size();
  if (block.size < kTouchedOnly) return read(start, end);
  const std::uintptr_t first = align_up(start, page), last = align_down(end, page);
  read(start, first);
  os::for_each_touched(
      first, last,
      [](void* to, std::uintptr_t a, std::uintptr_t b) {
        (*static_cast<decltype(read)*>(to))(a, b);
      },
      const_cast<void*>(static_cast<const void*>(&read)));
  read(last, end);
}

bool Marking::is_like_beginning(const ScannedBlock& block, std::uintptr_t address) const {
  const std::uintptr_t offset = address - block.start;
  if (offset == 0) return true;
  if (offset >= block.size) return false;  // just past the end
  if (offset <= kHeader) return true;
  if (address % sizeof(Word) != 0 || address + sizeof(Word) > block.start + block.size)
    return false;
  if (block.start % sizeof(Word) != 0 || unreadable_->has(block.start) ||
      unreadable_->has(address)) {
    return false;
  }
  return constants_->has(*words_at(block.start)) && constants_->has(*words_at(address));
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
    for_each_word((*blocks_)[stack_[--stack_size_]],
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
    for_each_word(block, [&](std::uintptr_t value) { follow_weak(value); });
  }
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    ScannedBlock& first = (*blocks_)[i];
    if (first.mark() != BlockMark::kNone || first.leader != ScannedBlock::kNoLeader) continue;
    first.leader = i;
    push(i);
    while (stack_size_ != 0) {
      const ScannedBlock& block = (*blocks_)[stack_[--stack_size_]];
      for_each_word(block, [&](std::uintptr_t value) { adopt(i, value); });
    }
  }
  for (std::uint32_t i = 0; i < blocks_->count(); ++i) {
    if ((*blocks_)[i].mark() == BlockMark::kNone) (*blocks_)[i].leader = leader_of(i);
  }
}

}  // namespace corbel::alloc
