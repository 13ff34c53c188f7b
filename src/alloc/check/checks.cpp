// SPDX-License-Identifier: Apache-2.0
// The calls of a program whose calls are watched.
#include <string.h>

#include <algorithm>
#include <bit>

#include "alloc/check/ledger.hpp"
#include "alloc/check/options.hpp"
#include "alloc/check/pattern.hpp"
#include "alloc/check/quarantine.hpp"
#include "alloc/check/raw_block.hpp"
#include "alloc/check/report.hpp"
#include "alloc/check/take_live.hpp"
#include "alloc/check/verify.hpp"
#include "alloc/heap/allocate.hpp"
#include "alloc/heap/foreign.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/heap/reallocate.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/stacks/stack_table.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// A thread checks the blocks of one group each time that it has allocated so many.
constexpr std::uint32_t kAllocationsPerCheck = 2048;

// The part of a new block that is filled: filling a larger one would make pages resident that the
// program may never touch.
constexpr std::size_t kMaxFill = kMediumMax;

CORBEL_THREAD_VARIABLE(std::uint32_t, allocations) = 0;

using unwind::own_return_place;
using unwind::ReturnPlace;

StackId capture(const ReturnPlace& caller, unsigned frames) {
  return frames != 0 ? capture_stack_at(caller, frames) : 0;
}

std::size_t alignment_of(const BlockRecord& record) {
  return record.log_alignment == 0 ? 0 : std::size_t(1) << record.log_alignment;
}

// ---- names --------------------------------------------------------------------------------------

const char* name_of(Origin origin, std::size_t alignment) {
  switch (origin) {
    case Origin::kMalloc:
      return "malloc";
    case Origin::kNewArray:
      return alignment != 0 ? "new[] with an alignment" : "new[]";
    default:
      return alignment != 0 ? "new with an alignment" : "new";
  }
}

const char* name_of(const Release& release) {
  const bool is_aligned = release.alignment > kMinAlignment;
  switch (release.kind()) {
    case ReleaseKind::kFree:
      return "free";
    case ReleaseKind::kDeleteArray:
      return is_aligned ? "delete[] with an alignment" : "delete[]";
    default:
      return is_aligned ? "delete with an alignment" : "delete";
  }
}

// ---- what is wrong with a call ------------------------------------------------------------------

bool is_family_of(Origin origin, ReleaseKind kind) {
  switch (origin) {
    case Origin::kMalloc:
      return kind == ReleaseKind::kFree || kind == ReleaseKind::kDeleteAny;
    case Origin::kNew:
      return kind == ReleaseKind::kDelete || kind == ReleaseKind::kDeleteAny;
    case Origin::kNewArray:
      return kind == ReleaseKind::kDeleteArray || kind == ReleaseKind::kDeleteAny;
    case Origin::kNewAny:
      return true;
  }
  return true;
}

void check_family(const char* name, const BlockRef& block, const Release& release) {
  const auto origin = Origin(block.record->origin);
  const std::size_t made = alignment_of(*block.record);
  // Forms with an alignment of at most kMinAlignment do the same as the ordinary ones.
  const std::size_t told = release.alignment > kMinAlignment ? std::size_t(release.alignment) : 0;
  const bool is_cxx = release.kind() != ReleaseKind::kFree;
  const bool is_aligned_c = !is_cxx && release.alignment != 0;
  const bool same = !(is_cxx || is_aligned_c) || origin == Origin::kNewAny ||
                    release.kind() == ReleaseKind::kDeleteAny || made == told;
  if (is_family_of(origin, release.kind()) && same) return;
  Finding finding;
  finding.add(name).add(" of ");
  add_block(finding, block);
  finding.add(" from ").add(name_of(origin, made));
  if (is_family_of(origin, release.kind()) && made != 0 && told != 0) {
    finding.add(": ").add_decimal(told).add(" instead of ").add_decimal(made);
  }
  report(finding, block.begin(), block, {.doing = "called"});
}

void check_size(const BlockRef& block, const Release& release) {
  if (release.size == Release::kNoSize || release.size == block.record->size) return;
  Finding finding;
  finding.add(name_of(release)).add(" with a size of ").add_decimal(release.size).add(" for ");
  add_block(finding, block);
  report(finding, block.begin(), block, {.doing = "called"});
}

// ---- quarantine ---------------------------------------------------------------------------------

std::size_t quarantine_limit() {
  if (check_options.quarantine != CheckOptions::kAdaptive) return check_options.quarantine;
  return std::max(footprint.bytes() / 8, CheckOptions::kMinQuarantine);
}

// Loads into the processor's cache what the next free will look at when it gives the block back:
// it has been out of use for long.
void prepare_to_give_back(const char* raw) {
  ledger.prefetch(raw);
  __builtin_prefetch(raw, 1);
  __builtin_prefetch(raw + 64, 1);
}

// Gives the oldest blocks back while there is more in quarantine than `limit`. Returns whether
// there was one. Requires: the thread is in no InsideAllocator.
bool shrink_quarantine(std::size_t limit) {
  bool any = false;
  char* next = nullptr;
  while (char* const raw = quarantine.take_excess(limit, &next)) {
    any = true;
    if (next != nullptr) prepare_to_give_back(next);
    const BlockRef block = ledger.find(raw);
    block.take();
    verify_freed(block, {.doing = "found"});
    const InsideAllocator inside;
    give_raw_block(block);
  }
  return any;
}

// ---- the life of a block ------------------------------------------------------------------------

BlockRef make_block(std::size_t size, std::size_t alignment, Origin origin, Fill fill,
                    const ReturnPlace& caller) {
  if (size > kMaxBlock || alignment > kMaxBlock) return {};
  const StackId stack = capture(caller, check_options.frames);
  BlockRef block;
  bool zeroed = false;
  do {
    const InsideAllocator inside;
    block = get_raw_block(size, std::max(alignment, kMinAlignment), &zeroed);
  } while (!block && shrink_quarantine(0));
  if (!block) return {};
  BlockRecord& record = *block.record;
  record.allocated_at = stack;
  record.allocated_by = known_thread_id();
  record.origin = std::uint64_t(origin);
  if (fill == Fill::kZero) {
    if (!zeroed) memset(block.begin(), 0, size);
  } else if (check_options.fill) {
    memset(block.begin(), kFreshByte, std::min(size, kMaxFill));
  }
  return block;
}

// What a protected block takes in quarantine: its record and span, and its mappings in the kernel.
// With less, a program that allocates large blocks would get as many mappings as it may have, and
// each fork copies them. Not with guard=all, which asks for as many as there may be.
constexpr std::size_t kProtectedBytes = 4096;

// Requires: the caller has taken the record.
void end_block(const BlockRef& block, const ReturnPlace& caller) {
  BlockRecord& record = *block.record;
  // Half of the frames: which code frees a block is mostly clear from the innermost, and each takes
  // time.
  record.freed_at = capture(caller, (check_options.frames + 1) / 2);
  record.freed_by = known_thread_id();
  const std::size_t limit = quarantine_limit();
  std::size_t bytes = record.size + sizeof(BlockRecord);
  if (record.is_guarded) {
    if (protect(block)) bytes = check_options.guard_all ? sizeof(BlockRecord) : kProtectedBytes;
  } else if (check_options.fill) {
    memset(block.begin(), kFreedByte, record.size);
  }
  if (limit == 0) {
    const InsideAllocator inside;
    return give_raw_block(block);
  }
  block.set_state(BlockState::kQuarantined);
  quarantine.add(block.raw, bytes);
  shrink_quarantine(limit);
}

}  // namespace

// Not inlined, as own_return_place() requires.
__attribute__((noinline)) void* watched_allocate(std::size_t size, std::size_t alignment,
                                                 Origin origin, Fill fill) {
  const BlockRef block = make_block(size, alignment, origin, fill, own_return_place());
  if (!block) return out_of_memory();
  block.set_state(BlockState::kLive);
  if (++allocations % kAllocationsPerCheck == 0 && check_options.redzone != 0) verify_some();
  return block.begin();
}

__attribute__((noinline)) void watched_deallocate(void* pointer, Release release) {
  if (!owns(pointer)) return free_foreign(pointer);
  const BlockRef block = take_live(name_of(release), Ends::kYes, pointer, ledger.find(pointer));
  if (check_options.judge) {
    check_family(name_of(release), block, release);
    check_size(block, release);
  }
  verify_redzones(block, BlockState::kLive, {.doing = "freed"});
  end_block(block, own_return_place());
}

__attribute__((noinline)) bool watched_reallocate(void* pointer, std::size_t size,
                                                  std::size_t alignment, void** result) {
  if (!owns(pointer)) return false;
  const BlockRef old = take_live("realloc", Ends::kNo, pointer, ledger.find(pointer));
  if (check_options.judge) check_family("realloc", old, kFreed);
  verify_redzones(old, BlockState::kLive, {.doing = "resized"});
  *result = nullptr;
  const ReturnPlace caller = own_return_place();
  if (size == 0) {
    end_block(old, caller);
    return true;
  }
  const std::size_t old_size = old.record->size;
  if (address_of(pointer) % alignment == 0 && fits_in_place(old, size)) {
    resize_in_place(old, size);
    if (check_options.fill && size > old_size) {
      memset(old.begin() + old_size, kFreshByte, size - old_size);
    }
    old.set_state(BlockState::kLive);
    *result = pointer;
    return true;
  }
  const BlockRef fresh = make_block(size, alignment, Origin::kMalloc, Fill::kAny, caller);
  if (!fresh) {
    // Without memory, a block can still become smaller where it is.
    const bool may_stay = size <= old_size && address_of(pointer) % alignment == 0;
    old.set_state(BlockState::kLive);
    *result = may_stay ? pointer : out_of_memory();
    return true;
  }
  memcpy(fresh.begin(), pointer, std::min(size, old_size));
  fresh.set_state(BlockState::kLive);
  end_block(old, caller);
  *result = fresh.begin();
  return true;
}

std::size_t watched_usable_size(const void* pointer) {
  if (!owns(pointer)) return foreign_size(pointer);
  const BlockRef block = take_live("malloc_usable_size", Ends::kNo, pointer, ledger.find(pointer));
  // Without redzones the program may use all of it, from now on.
  if (check_options.redzone == 0) block.record->size = block.capacity - block.record->front;
  const std::size_t size = block.record->size;
  block.set_state(BlockState::kLive);
  return size;
}

bool watched_is_block(const void* pointer) {
  const BlockRef block = ledger.find(pointer);
  return block && block.begin() == pointer && block.state() != BlockState::kQuarantined &&
         block.state() != BlockState::kReleased;
}

}  // namespace corbel::alloc
