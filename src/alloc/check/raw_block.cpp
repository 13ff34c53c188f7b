// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/raw_block.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "alloc/check/options.hpp"
#include "alloc/check/pattern.hpp"
#include "alloc/heap/allocate.hpp"
#include "alloc/heap/deallocate.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/map/page_map.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// A longer redzone after a block finds no more, and takes time.
constexpr std::size_t kMaxRear = 1024;

// A guarded block takes up to three mappings. The system allows a process 65,530 by default, and
// the program needs some.
constexpr std::uint32_t kMaxGuarded = 16384;
constinit std::atomic<std::uint32_t> guarded_blocks{0};

std::size_t rear() { return check_options.redzone / 2; }

// A redzone before a block with a larger alignment would take as much address space.
constexpr std::size_t kMaxGuardAlignment = std::size_t(1) << 30;

// Where guarded blocks lie in their span.
struct GuardedPlace {
  std::size_t guard;  // the size of the first guard
  std::size_t inner;  // the accessible bytes
  std::size_t front;  // the distance of the block from the beginning of the span

  std::size_t whole() const { return guard + inner + os::page_size(); }
};

GuardedPlace guarded_place(std::size_t size, std::size_t alignment) {
  const std::size_t page = os::page_size();
  GuardedPlace place;
  place.guard = std::max(page, alignment);
  // With some redzone before it, unless it begins at a guard page because of its alignment.
  const std::size_t before = alignment < page ? check_options.redzone : 0;
  place.inner = align_up(align_up(size, std::min(alignment, page)) + before, page);
  place.front = place.guard + align_down(place.inner - size, alignment);
  return place;
}

// The accessible bytes around a block.
struct Inner {
  char* begin;
  char* end;
};

Inner inner_of(const BlockRef& block) {
  if (!block.record->is_guarded) return {block.raw, block.raw + block.capacity};
  const std::size_t alignment = std::size_t(1) << block.record->log_alignment;
  const GuardedPlace place =
      guarded_place(block.record->size, std::max<std::size_t>(alignment, 16));
  return {block.raw + place.guard, block.raw + place.guard + place.inner};
}

// The redzones are [begin, block) and [end of the block, end).
Inner redzones_of(const BlockRef& block) {
  Inner zones = inner_of(block);
  char* const end = block.begin() + block.record->size;
  zones.begin = std::max(zones.begin, block.begin() - kMaxRear);
  zones.end = std::min(zones.end, end + kMaxRear);
  return zones;
}

bool set_guards(const BlockRef& block, os::Access access) {
  const Inner inner = inner_of(block);
  const auto front = std::size_t(inner.begin - block.raw);
  return os::protect(block.raw, front, access) && os::protect(inner.end, os::page_size(), access);
}

BlockRef get_guarded(std::size_t size, std::size_t alignment, bool* zeroed) {
  const std::size_t natural = std::max<std::size_t>(alignment, kMinAlignment);
  const GuardedPlace place = guarded_place(size, natural);
  void* const raw = allocate_span_block(place.whole(), natural, zeroed);
  if (raw == nullptr) return {};
  const BlockRef block = ledger.record_for(find_span(raw), raw);
  if (!block) {
    deallocate(raw);
    return {};
  }
  BlockRecord& record = *block.record;
  record.front = std::uint32_t(place.front);
  record.size = size;
  record.log_alignment =
      std::uint64_t(alignment <= kMinAlignment ? 0 : std::countr_zero(alignment));
  record.is_guarded = true;
  record.is_protected = false;
  // relaxed both: a count that is a little off does no harm
  if (guarded_blocks.load(std::memory_order_relaxed) >= kMaxGuarded ||
      !set_guards(block, os::Access::kNone)) {
    set_guards(block, os::Access::kAll);
    record.is_guarded = false;
  } else {
    guarded_blocks.fetch_add(1, std::memory_order_relaxed);
  }
  return block;
}

BlockRef get_ordinary(std::size_t size, std::size_t alignment, bool* zeroed) {
  const std::size_t redzone = check_options.redzone;
  std::size_t front = redzone;
  if (redzone != 0 && alignment > redzone) front = alignment <= kMaxGuardAlignment ? alignment : 0;
  *zeroed = false;
  void* const raw = allocate_aligned(front + size + rear(), alignment);
  if (raw == nullptr) return {};
  const BlockRef block = ledger.record_for(slab_head(find_span(raw)), raw);
  if (!block) {
    deallocate(raw);
    return {};
  }
  BlockRecord& record = *block.record;
  record.front = std::uint32_t(front);
  record.size = size;
  record.log_alignment =
      std::uint64_t(alignment <= kMinAlignment ? 0 : std::countr_zero(alignment));
  record.is_guarded = false;
  record.is_protected = false;
  return block;
}

bool is_to_be_guarded(std::size_t size, std::size_t alignment) {
  if (check_options.redzone == 0 || alignment > kMaxGuardAlignment) return false;
  if (check_options.guard_all) return true;
  return size > kMediumMax - 2 * kMaxRedzone || alignment > os::page_size();
}

}  // namespace

BlockRef get_raw_block(std::size_t size, std::size_t alignment, bool* zeroed) {
  const BlockRef block = is_to_be_guarded(size, alignment) ? get_guarded(size, alignment, zeroed)
                                                           : get_ordinary(size, alignment, zeroed);
  if (!block || check_options.redzone == 0) return block;
  const Inner zones = redzones_of(block);
  fill_canary(zones.begin, block.begin());
  fill_canary(block.begin() + size, zones.end);
  return block;
}

void give_raw_block(const BlockRef& block) {
  if (block.record->is_guarded) {
    // What protect() has decommitted must be usable, as the block is for the heap. If memory is
    // exhausted, the block stays in quarantine for good.
    const Inner inner = inner_of(block);
    if (block.record->is_protected &&
        !os::commit(inner.begin, std::size_t(inner.end - inner.begin))) {
      os::decommit(inner.begin, std::size_t(inner.end - inner.begin));  // a part may be committed
      return block.set_state(BlockState::kQuarantined);
    }
    os::protect(block.raw, block.capacity, os::Access::kAll);
    block.record->is_guarded = false;
    block.record->is_protected = false;
    guarded_blocks.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
  }
  block.set_state(BlockState::kReleased);
  deallocate(block.raw);
}

bool fits_in_place(const BlockRef& block, std::size_t size) {
  if (block.record->is_guarded || check_options.redzone == 0) return false;
  const std::size_t most = block.capacity - block.record->front;
  return size <= most && most - size >= rear() && size >= most / 2;
}

void resize_in_place(const BlockRef& block, std::size_t size) {
  block.record->size = size;
  fill_canary(block.begin() + size, redzones_of(block).end);
}

char* find_changed_redzone(const BlockRef& block) {
  if (check_options.redzone == 0) return nullptr;
  const Inner zones = redzones_of(block);
  // The one after the block first: overflows are more frequent.
  char* const end = block.begin() + block.record->size;
  if (char* const changed = find_changed_canary(end, zones.end); changed != zones.end) {
    return changed;
  }
  char* const changed = find_changed_canary(zones.begin, block.begin());
  return changed != block.begin() ? changed : nullptr;
}

bool protect(const BlockRef& block) {
  const Inner inner = inner_of(block);
  const auto size = std::size_t(inner.end - inner.begin);
  if (!os::protect(inner.begin, size, os::Access::kNone)) return false;
  os::decommit(inner.begin, size);
  block.record->is_protected = true;
  return true;
}

}  // namespace corbel::alloc
