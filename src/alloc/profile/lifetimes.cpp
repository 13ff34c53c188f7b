// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/lifetimes.hpp"

#include <atomic>

#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/profile/open_table.hpp"
#include "alloc/profile/time_types.hpp"
#include "alloc/sample/observer.hpp"
#include "alloc/sample/sampler.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Whether a block may be recorded. relaxed: a thread that frees such a block has got it from the
// one that recorded it, and sees what that one saw
constinit std::atomic<bool> lifetimes_have_begun{false};

using Clock = std::uint64_t (*)();
constinit Clock lifetime_clock = os::now_ns;

// ---- rows ---------------------------------------------------------------------------------------

struct RowEntry {
  LifetimeRow* row;

  bool is_free() const { return row == nullptr; }
  std::uint64_t hash() const { return hash_of(row->stack, row->thread); }
  static std::uint64_t hash_of(StackId stack, const SampledThread* thread) {
    return std::uint64_t(stack) << 32 ^ reinterpret_cast<std::uintptr_t>(thread);
  }
};

constinit OpenTable<RowEntry> rows;
constinit LifetimeRow* all_rows = nullptr;
constinit LifetimeRow* fresh_rows = nullptr;
constinit std::size_t fresh_count = 0;

LifetimeRow* make_row() {
  constexpr std::size_t kAtOnce = 32;
  if (fresh_count == 0) {
    fresh_rows = static_cast<LifetimeRow*>(allocate_metadata(kAtOnce * sizeof(LifetimeRow)));
    if (fresh_rows == nullptr) return nullptr;
    fresh_count = kAtOnce;
  }
  --fresh_count;
  return fresh_rows++;
}

// The row of the calling thread for the stack. nullptr if there is no memory.
LifetimeRow* find_row(StackId stack) {
  SampledThread* const thread = own_sampled_thread();
  if (thread == nullptr) return nullptr;
  const RowEntry* const found =
      rows.find(RowEntry::hash_of(stack, thread), [=](const RowEntry& entry) {
        return entry.row->stack == stack && entry.row->thread == thread;
      });
  if (found != nullptr) return found->row;
  if (!rows.reserve()) return nullptr;
  LifetimeRow* const fresh = make_row();
  if (fresh == nullptr) return nullptr;
  fresh->stack = stack;
  fresh->thread = thread;
  fresh->next = all_rows;
  all_rows = fresh;
  rows.add({fresh});
  return fresh;
}

void add(LifetimeRow& row, LifetimeSum sum, double value) { row.sums[unsigned(sum)] += value; }

// ---- blocks -------------------------------------------------------------------------------------

struct Life {
  const void* block;
  LifetimeRow* row;
  double weight;
  std::uint64_t began_at;
  std::uint64_t thread;  // own_thread_number() of the one that allocated it: entries are shared

  bool is_free() const { return block == nullptr; }
  std::uint64_t hash() const { return reinterpret_cast<std::uintptr_t>(block) >> 3; }
};

constinit OpenTable<Life> lives;

Life* find_life(const void* block) {
  const Life key{block, nullptr, 0, 0, 0};
  return lives.find(key.hash(), [=](const Life& life) { return life.block == block; });
}

}  // namespace

bool record_lifetime(const Sample& sample) {
  if (!lives.reserve()) return false;
  LifetimeRow* const row = find_row(sample.stack);
  if (row == nullptr) return false;
  add(*row, LifetimeSum::kAllocations, sample.weight);
  add(*row, LifetimeSum::kAllocated, sample.weight * double(sample.size));
  lives.add({sample.block, row, sample.weight, lifetime_clock(), own_thread_number()});
  return true;
}

FreeOfSample begin_free(const void* block) {
  FreeOfSample how;
  if (!lifetimes_have_begun.load(std::memory_order_relaxed)) return how;
  how.at = lifetime_clock();
  {
    sync::LockGuard guard(samples_lock);
    const Life* const life = find_life(block);
    how.is_by_other = life != nullptr && life->thread != own_thread_number();
  }
  if (how.is_by_other) {
    prepare_to_record();
    how.stack = capture_stack();
  }
  return how;
}

bool end_lifetime(const void* block, const FreeOfSample& how) {
  Life* const life = find_life(block);
  if (life == nullptr) return false;
  if (how.at - life->began_at < kBriefLife) add(*life->row, LifetimeSum::kBrief, life->weight);
  if (how.is_by_other) {
    add(*life->row, LifetimeSum::kHandedOver, life->weight);
    LifetimeRow* const row = find_row(how.stack);
    if (row != nullptr) add(*row, LifetimeSum::kReceived, life->weight);
  }
  lives.remove(life);
  return true;
}

void record_growth(const void* block, std::size_t copied) {
  if (!lifetimes_have_begun.load(std::memory_order_relaxed)) return;
  sync::LockGuard guard(samples_lock);
  const Life* const life = find_life(block);
  if (life == nullptr) return;
  // The realloc has allocated the block, so the row is that of its stack.
  add(*life->row, LifetimeSum::kGrowths, life->weight);
  add(*life->row, LifetimeSum::kCopied, life->weight * double(copied));
}

void for_each_lifetime_row(void (*visit)(void* context, const LifetimeRow& row), void* context) {
  for (const LifetimeRow* row = all_rows; row != nullptr; row = row->next) visit(context, *row);
}

// ---- the time profile ---------------------------------------------------------------------------

namespace {

void add_row_to(PprofWriter& writer, const LifetimeRow& row) {
  constexpr TimeValue kValueOf[kLifetimeSums] = {
      TimeValue::kAllocations, TimeValue::kAllocated, TimeValue::kBrief, TimeValue::kHandedOver,
      TimeValue::kReceived,    TimeValue::kGrowths,   TimeValue::kCopied};
  if (row.thread->label == 0) {
    row.thread->label = writer.add_thread(row.thread->name, row.thread->id);
  }
  TimeValues values;
  for (unsigned i = 0; i < kLifetimeSums; ++i) values[kValueOf[i]] = row.value(LifetimeSum(i));
  const PprofWriter::Label thread = writer.thread_label(row.thread->label);
  writer.add_sample(stack_of(row.stack), values.at, &thread, 1);
}

void add_lifetimes_to(PprofWriter& writer) {
  sync::LockGuard guard(samples_lock);
  for (SampledThread* t = first_sampled_thread(); t != nullptr; t = t->next) t->label = 0;
  for_each_lifetime_row(
      [](void* to, const LifetimeRow& row) { add_row_to(*static_cast<PprofWriter*>(to), row); },
      &writer);
}

}  // namespace

void start_lifetimes(std::uint64_t every, SampleRate rate) {
  add_heap_samples = add_lifetimes_to;
  lifetimes_have_begun.store(true, std::memory_order_relaxed);
  start_sampling(every, SampledFor::kLifetimes, rate);
}

void stop_lifetimes() { stop_sampling(SampledFor::kLifetimes); }

void set_lifetime_clock(std::uint64_t (*clock)()) { lifetime_clock = clock; }

}  // namespace corbel::alloc
