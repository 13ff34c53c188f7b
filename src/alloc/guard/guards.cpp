// SPDX-License-Identifier: Apache-2.0
// Sampled guards: a few of the program's blocks lie between pages that cannot be accessed, and
// cannot be accessed after they are freed. The sampler decides which, so that the cost is bounded
// and each misuse is found in some process, sooner or later.
//
// The model is GWP-ASan: K. Serebryany et al., "GWP-ASan: Sampling-Based Detection of Memory-Safety
// Bugs in Production", ICSE-SEIP 2024. Other than there, blocks are sampled by their bytes, and the
// end of the slot that has no guard page next to the block has a canary.
#include <atomic>

#include "alloc/check/fault.hpp"
#include "alloc/check/options.hpp"
#include "alloc/check/pattern.hpp"
#include "alloc/check/report.hpp"
#include "alloc/check/take_live.hpp"
#include "alloc/check/verify.hpp"
#include "alloc/guard/guard_pool.hpp"
#include "alloc/heap/allocate.hpp"
#include "alloc/heap/guarding.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/size_class.hpp"
#include "alloc/sample/observer.hpp"
#include "alloc/sample/sampler.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

static_assert(CheckOptions::kMaxGuardDistance == kMaxSamplingDistance);

// Set up once, before a block is sampled for it.
constinit GuardPool guard_pool;

// A guarded block costs some 20 us of system calls and page faults, and a program may allocate tens
// of GiB a second. So with the default distance, the next one comes only after so many
// milliseconds.
constexpr std::uint64_t kMinInterval = 8;
// relaxed: two threads that come at the same time may both guard a block
constinit std::atomic<std::uint64_t> next_guard_at{0};

bool is_too_early() {
  return check_options.guard_seldom && os::now_ms() < next_guard_at.load(std::memory_order_relaxed);
}

void handle_guard_fault(const os::Fault& fault) {
  const BlockRef block = guard_pool.find(fault.address);
  if (block) report_access(fault, block);
}

void verify_canary(const BlockRef& block) {
  char* const begin = block.begin();
  char* const end = begin + block.record->size;
  const char* changed = find_changed_canary(block.raw, begin);
  if (changed == begin) changed = find_changed_canary(end, block.raw + block.capacity);
  if (changed == block.raw + block.capacity) return;
  block.set_state(BlockState::kLive);
  report_outside(changed, block, {.doing = "freed"});
}

unsigned class_for(std::size_t size, std::size_t alignment) {
  if (alignment > kMinAlignment) return aligned_class_of(size, alignment);
  return class_of(alignment > 8 && size < alignment ? alignment : size);
}

// Like the check of other blocks (deallocate.cpp), only that of the size class: a program that is
// in production does not end because of a size that does no harm.
void check_told_size(const BlockRef& block, const Release& release) {
  if (release.size == Release::kNoSize) return;
  const BlockRecord& record = *block.record;
  const std::size_t alignment = record.log_alignment != 0 ? std::size_t(1) << record.log_alignment
                                                          : std::size_t(release.alignment);
  if (release.size <= kMediumMax &&
      class_for(release.size, alignment) == class_for(record.size, alignment)) {
    return;
  }
  block.set_state(BlockState::kLive);
  Finding finding;
  finding.add(release.kind() == ReleaseKind::kFree ? "free" : "delete");
  finding.add(" with a size of ").add_decimal(release.size).add(" for ");
  add_block(finding, block);
  report(finding, block.begin(), block, {.doing = "called"});
}

}  // namespace

bool can_guard(const BlockRequest& request) {
  return guard_pool.has_room(request) && !is_too_early();
}

void* take_guarded(const BlockRequest& request, StackId stack) {
  const BlockRef block = guard_pool.take(request);
  if (!block) return nullptr;
  next_guard_at.store(os::now_ms() + kMinInterval, std::memory_order_relaxed);
  block.record->allocated_at = stack;
  block.record->allocated_by = known_thread_id();
  block.set_state(BlockState::kLive);
  return block.begin();
}

void free_guarded(void* pointer, const Release& release) {
  const FreeOfSample how = begin_free(pointer);
  const BlockRef block = take_live("free", Ends::kYes, pointer, guard_pool.find(pointer));
  check_told_size(block, release);
  verify_canary(block);
  block.record->freed_at = capture_stack();
  block.record->freed_by = known_thread_id();
  {
    sync::LockGuard guard(samples_lock);
    forget_samples(pointer, how);
  }
  guard_pool.give_back(block);
}

std::size_t guarded_size(const char* function, const void* pointer) {
  const BlockRef block = take_live(function, Ends::kNo, pointer, guard_pool.find(pointer));
  const std::size_t size = block.record->size;
  block.set_state(BlockState::kLive);
  return size;
}

bool is_guarded_block(const void* pointer) {
  const BlockRef block = guard_pool.find(pointer);
  return block && block.begin() == pointer && block.state() != BlockState::kQuarantined;
}

std::size_t guarded_bytes() { return guard_pool.live_bytes(); }

void set_up_guards() {
  if (check_options.blocks != CheckedBlocks::kSome) return;
  choose_canary();
  if (!guard_pool.set_up(check_options.guard_slots)) {
    constexpr char kLine[] = "corbel: CORBEL_CHECK is ignored: there is no memory for it\n";
    return os::write_error(kLine, sizeof kLine - 1);
  }
  os::on_fault(handle_guard_fault);
  start_sampling(check_options.guard_every, SampledFor::kGuards);
}

}  // namespace corbel::alloc
