// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/ledger.hpp"

#include <algorithm>

#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/span.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit Ledger ledger;
constinit std::uint32_t generation = 0;

struct Ledger::Leaf {
  std::atomic<Group*> groups[kLeafEntries];
};

namespace {

std::uintptr_t unit_of(const void* address) {
  return (address_of(address) & ((std::uintptr_t(1) << arch::kAddressBits) - 1)) >> kUnitBits;
}

}  // namespace

BlockState BlockRef::take() const {
  // After a fork without its handlers, the thread that took the record may not exist. Time in which
  // the whole process was stopped does not count.
  constexpr std::uint64_t kMaxWait = 10000;  // ms
  constexpr std::uint64_t kMaxStep = 100;
  std::uint64_t waited = 0;
  for (std::uint64_t last = 0;;) {
    // (3) acquire: sees the fields published by (1), also without the exchange
    std::uint32_t word = record->state.load(std::memory_order_acquire);
    const bool is_taken = state_of(word) == BlockState::kChanging;
    const BlockState before = is_taken ? state_before(word) : state_of(word);
    if (word != changing_from(before)) {
      // (3) acquire: as above; relaxed on failure: the load comes again
      if (record->state.compare_exchange_weak(
              word, changing_from(before), std::memory_order_acquire, std::memory_order_relaxed)) {
        return before;
      }
      continue;
    }
    const std::uint64_t now = os::now_ms();
    if (last != 0) waited += std::min(now - last, kMaxStep);
    last = now;
    if (waited > kMaxWait) return before;
    os::yield();
  }
}

void forget_record_takers() { ++generation; }

bool Ledger::Group::has_unit(std::uintptr_t unit) const {
  // (5) acquire: sees the fields published by (4). A spare group, and one that is being made, has
  // none of the caller's units.
  const char* const first = start.load(std::memory_order_acquire);
  if (first == nullptr) return false;
  const std::size_t size = block_size.load(std::memory_order_relaxed) * count;  // relaxed: by (5)
  return unit >= unit_of(first) && unit <= unit_of(first + size - 1);
}

bool Ledger::set_up() {
  const std::size_t size = align_up(kRootEntries * sizeof(root_[0]), kUnit);
  void* const memory = os::map(size, kUnit, nullptr);
  if (memory == nullptr) return false;
  os::advise(memory, size, os::PageAdvice::kSparse);
  root_ = static_cast<std::atomic<Leaf*>*>(memory);
  return true;
}

// The numbers of a slab have 32 bits, and are divided in much less time than those of 64 bits.
std::size_t Ledger::index_of(std::size_t offset, std::size_t block_size) {
  if ((offset | block_size) >> 32 != 0) return offset / block_size;
  return std::uint32_t(offset) / std::uint32_t(block_size);
}

Ledger::Group* Ledger::group_at(std::uintptr_t unit) const {
  // (9) acquire: sees the leaf published by (8)
  const Leaf* leaf = root_[unit / kLeafEntries].load(std::memory_order_acquire);
  if (leaf == nullptr) return nullptr;
  // (11) acquire: sees the group published by (10)
  return leaf->groups[unit % kLeafEntries].load(std::memory_order_acquire);
}

bool Ledger::add_leaf(std::uintptr_t unit) {
  std::atomic<Leaf*>& entry = root_[unit / kLeafEntries];
  // (9) acquire: sees the leaf published by (8)
  if (entry.load(std::memory_order_acquire) != nullptr) return true;
  auto* const fresh = static_cast<Leaf*>(allocate_metadata(sizeof(Leaf)));
  if (fresh == nullptr) return false;
  Leaf* none = nullptr;
  // (8) release: publishes the zeroed leaf to (9); relaxed on failure: (9) comes again. Then the
  // memory of this one is lost, which happens once in a GiB at most.
  entry.compare_exchange_strong(none, fresh, std::memory_order_release, std::memory_order_relaxed);
  return true;
}

// Requires: the caller holds checks_lock.
Ledger::Group* Ledger::take_spare(std::uint32_t count) {
  for (Group** link = &spare_[count % kSpareKinds]; *link != nullptr; link = &(*link)->next_spare) {
    Group* const group = *link;
    if (group->count != count) continue;
    *link = group->next_spare;
    return group;
  }
  return nullptr;
}

// Requires: the caller holds checks_lock.
void Ledger::retire(Group* group) {
  // relaxed: a thread that still reads the records finds them in the state kNone
  group->start.store(nullptr, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < group->count; ++i) {
    // relaxed: as above
    group->records[i].state.store(std::uint32_t(BlockState::kNone), std::memory_order_relaxed);
  }
  group->next_spare = spare_[group->count % kSpareKinds];
  spare_[group->count % kSpareKinds] = group;
}

// Requires: the caller holds checks_lock.
void Ledger::enter(Group* group, std::uintptr_t first_unit, std::size_t units) {
  for (std::uintptr_t unit = first_unit; unit < first_unit + units; ++unit) {
    Group* const old = group_at(unit);
    // The old slab or large block has gone as a whole, so its group must not be found again by a
    // new one of the same size at the same place, whose other units do not lead to it. The unit may
    // also be left over from a group that is elsewhere by now.
    if (old != nullptr && old != group && old->has_unit(unit)) retire(old);
    Leaf* const leaf = root_[unit / kLeafEntries].load(std::memory_order_relaxed);  // by group_at()
    // (10) release: publishes the group to (11)
    leaf->groups[unit % kLeafEntries].store(group, std::memory_order_release);
  }
}

Ledger::Group* Ledger::make_group(Span* span, std::size_t block_size, std::uint32_t count) {
  const std::uintptr_t first = span->unit;
  for (std::uintptr_t unit = first; unit < first + span->units; unit += kLeafEntries) {
    if (!add_leaf(unit)) return nullptr;
  }
  if (!add_leaf(first + span->units - 1)) return nullptr;
  Group* group;
  {
    sync::LockGuard guard(checks_lock);
    group = take_spare(count);
  }
  if (group == nullptr) {
    group = static_cast<Group*>(allocate_metadata(sizeof(Group) + count * sizeof(BlockRecord)));
    if (group == nullptr) return nullptr;
    group->count = count;
    group->next = all_.load(std::memory_order_relaxed);  // relaxed: compared by the exchange
    // (6) release: publishes the group to (7); relaxed on failure: nothing is read through it
    while (!all_.compare_exchange_weak(group->next, group, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    }
  }
  group->block_size.store(block_size, std::memory_order_relaxed);  // relaxed: published by (4)
  // (4) release: publishes the size of the blocks to (5)
  group->start.store(span->start(), std::memory_order_release);
  sync::LockGuard guard(checks_lock);
  enter(group, first, span->units);
  return group;
}

BlockRef Ledger::record_for(Span* span, void* raw) {
  const bool is_large = span->tag() == span_tag::kLarge;
  const std::size_t block_size = is_large ? span->bytes() : span->layout().block_size;
  const std::uint32_t count = is_large ? 1 : span->layout().capacity;
  Group* group = group_at(span->unit);
  // relaxed both: the group of a slab is changed by its owner, before other threads get a block
  if (group == nullptr || group->start.load(std::memory_order_relaxed) != span->start() ||
      group->block_size.load(std::memory_order_relaxed) != block_size || group->count != count) {
    group = make_group(span, block_size, count);
    if (group == nullptr) return {};
  }
  const auto offset = std::size_t(static_cast<char*>(raw) - span->start());
  return {&group->records[index_of(offset, block_size)], static_cast<char*>(raw), block_size};
}

BlockRef Ledger::find(const void* address) const {
  Group* const group = group_at(unit_of(address));
  if (group == nullptr) return {};
  // (5) acquire: sees the fields published by (4)
  char* const start = group->start.load(std::memory_order_acquire);
  const std::size_t offset = address_of(address) - address_of(start);
  if (start == nullptr || address_of(address) < address_of(start)) return {};
  // relaxed: (4) publishes it. That of a later use comes only if the block has gone meanwhile: then
  // the caller has misused it, or is try_take(), which compares the reference.
  const std::size_t block_size = group->block_size.load(std::memory_order_relaxed);
  const std::size_t index = index_of(offset, block_size);
  if (index >= group->count) return {};
  const BlockRef block{&group->records[index], start + index * block_size, block_size};
  return block.state() != BlockState::kNone ? block : BlockRef{};
}

void Ledger::prefetch(const void* raw) const {
  const Group* const group = group_at(unit_of(raw));
  if (group == nullptr) return;
  // relaxed both: a wrong address does no harm
  const std::size_t offset =
      address_of(raw) - address_of(group->start.load(std::memory_order_relaxed));
  const std::size_t index = index_of(offset, group->block_size.load(std::memory_order_relaxed));
  if (index < group->count) __builtin_prefetch(&group->records[index], 1);
}

bool Ledger::try_take(const BlockRef& visited, BlockState seen) const {
  if (!visited.try_take(seen)) return false;
  // Now the block cannot go, so its group stays where it is. It may have moved before.
  const BlockRef block = find(visited.raw);
  if (block.record == visited.record && block.raw == visited.raw &&
      block.capacity == visited.capacity) {
    return true;
  }
  visited.set_state(seen);
  return false;
}

}  // namespace corbel::alloc
