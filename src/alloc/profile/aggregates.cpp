// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/aggregates.hpp"

#include <string.h>

#include "alloc/map/metadata.hpp"
#include "alloc/profile/open_table.hpp"

namespace corbel::alloc {

namespace {

// ---- aggregates ---------------------------------------------------------------------------------

struct AggregateEntry {
  Aggregate* aggregate;

  bool is_free() const { return aggregate == nullptr; }
  std::uint64_t hash() const { return hash_of(aggregate->stack, aggregate->thread); }
  static std::uint64_t hash_of(StackId stack, const SampledThread* thread) {
    return std::uint64_t(stack) << 32 ^ reinterpret_cast<std::uintptr_t>(thread);
  }
};

constinit OpenTable<AggregateEntry> aggregates;
constinit Aggregate* all_aggregates = nullptr;
constinit Aggregate* unused_aggregates = nullptr;
constinit std::size_t unused_count = 0;

constinit std::uint64_t live_bytes = 0;  // the estimate for the process
constinit std::uint64_t peak_bytes = 0;
constinit std::uint64_t peak_number = 0;

Aggregate* make_aggregate() {
  constexpr std::size_t kAtOnce = 16;
  if (unused_count == 0) {
    unused_aggregates = static_cast<Aggregate*>(allocate_metadata(kAtOnce * sizeof(Aggregate)));
    if (unused_aggregates == nullptr) return nullptr;
    unused_count = kAtOnce;
  }
  --unused_count;
  return unused_aggregates++;
}

Aggregate* find_aggregate(StackId stack, SampledThread* thread) {
  const AggregateEntry* const found =
      aggregates.find(AggregateEntry::hash_of(stack, thread), [=](const AggregateEntry& entry) {
        return entry.aggregate->stack == stack && entry.aggregate->thread == thread;
      });
  if (found != nullptr) return found->aggregate;
  if (!aggregates.reserve()) return nullptr;
  Aggregate* const fresh = make_aggregate();
  if (fresh == nullptr) return nullptr;
  fresh->stack = stack;
  fresh->thread = thread;
  fresh->peak_number = peak_number;
  fresh->next = all_aggregates;
  all_aggregates = fresh;
  aggregates.add({fresh});
  return fresh;
}

void before_change(Aggregate& aggregate) {
  aggregate.peak = at_peak(aggregate);
  aggregate.peak_number = peak_number;
}

// ---- blocks -------------------------------------------------------------------------------------

struct LiveBlock {
  const void* block;
  Aggregate* aggregate;
  Estimate estimate;

  bool is_free() const { return block == nullptr; }
  std::uint64_t hash() const { return reinterpret_cast<std::uintptr_t>(block) >> 3; }
};

constinit OpenTable<LiveBlock> live_blocks;

}  // namespace

bool add_block(const void* block, StackId stack, const Estimate& estimate) {
  if (!live_blocks.reserve()) return false;
  SampledThread* const thread = own_sampled_thread();
  Aggregate* const aggregate = thread != nullptr ? find_aggregate(stack, thread) : nullptr;
  if (aggregate == nullptr) return false;
  live_blocks.add({block, aggregate, estimate});
  before_change(*aggregate);
  aggregate->allocated.add(estimate);
  aggregate->live.add(estimate);
  live_bytes += estimate.bytes;
  if (live_bytes > peak_bytes) {
    peak_bytes = live_bytes;
    ++peak_number;
  }
  return true;
}

bool remove_block(const void* block) {
  const LiveBlock key{block, nullptr, {}};
  LiveBlock* const found =
      live_blocks.find(key.hash(), [=](const LiveBlock& entry) { return entry.block == block; });
  if (found == nullptr) return false;
  before_change(*found->aggregate);
  found->aggregate->live.subtract(found->estimate);
  live_bytes -= found->estimate.bytes;
  live_blocks.remove(found);
  return true;
}

Estimate at_peak(const Aggregate& aggregate) {
  return aggregate.peak_number == peak_number ? aggregate.peak : aggregate.live;
}

void for_each_live_block(void (*visit)(void*, const void*, StackId, const Estimate&),
                         void* context) {
  live_blocks.for_each([&](const LiveBlock& entry) {
    visit(context, entry.block, entry.aggregate->stack, entry.estimate);
  });
}

Aggregate* first_aggregate() { return all_aggregates; }
std::size_t recorded_blocks() { return live_blocks.size(); }

}  // namespace corbel::alloc
