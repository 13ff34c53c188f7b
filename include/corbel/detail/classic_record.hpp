// SPDX-License-Identifier: Apache-2.0
// What lies in front of every classic task: its parent, its reference count and its marks. Not for
// programs to include.
//
// Together with the smallest tasks it fills one cache line, so a fork touches few.
#ifndef CORBEL_DETAIL_CLASSIC_RECORD_HPP
#define CORBEL_DETAIL_CLASSIC_RECORD_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include <corbel/detail/task.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

class task;

namespace detail {

struct classic_record : task_base {
  // How many references there are to the task: its children that have not ended, and one for who
  // waits for it, if anybody does. src/compat/sched/classic_task.cpp says how it is counted down.
  std::atomic<std::uint32_t> count;
  std::uint32_t bits;  // the state, the marks, and from bit 16 on the affinity
  classic_record* parent;

  // In `count`: somebody sleeps until one reference is left.
  static constexpr std::uint32_t kAwaited = 1U << 31;

  // In `bits`, which are read and written as a whole: a part of what has just been written would
  // have to wait for it.
  enum : std::uint32_t {
    kState = 0x7,  // one of task::state_type
    kExecuting = 0,
    kReexecute,
    kReady,
    kAllocated,
    kFreed,
    kRecycle,
    kRecycleToEnqueue,
    kAnchor,  // no task, but what a wait for roots counts with

    kToEnqueue = 1U << 3,  // when its last reference is given back, in place of being run

    kSize = 7U << 8,  // class of the block; kLarge: its size lies in front of the record
    kSizeShift = 8,
    kLarge = 7,
    kStolen = 1U << 11,      // came from another thread
    kExplicit = 1U << 12,    // the context is a task_group_context that the program gave
    kBorrowed = 1U << 13,    // the context is that of an algorithm around the task's birth
    kConcurrent = 1U << 14,  // more than one thread may wait
    kEnqueued = 1U << 15,
    kInherited = kExplicit | kBorrowed | kConcurrent,  // by children and continuations

    kAffinityShift = 16
  };

  std::uint32_t state() const { return bits & kState; }
  void set_state(std::uint32_t state) { bits = (bits & ~std::uint32_t(kState)) | state; }
  // 1 + the place in the arena; 0: none
  std::uint16_t affinity() const { return std::uint16_t(bits >> kAffinityShift); }

  task& object();
  static classic_record& of(task& t);
  static const classic_record& of(const task& t);

  // While the task is in a list, which has no use for `run`, the next one stands there.
  classic_record* next_in_list() const {
    classic_record* next;
    std::memcpy(&next, &run, sizeof next);
    return next;
  }
  void set_next_in_list(classic_record* next) { std::memcpy(&run, &next, sizeof next); }

  void set_group(context_node& node, std::uint32_t marks_of_group) {
    context = &node;
    bits = (bits & ~std::uint32_t(kInherited)) | marks_of_group;
  }
  void take_group_of(const classic_record& other) {
    set_group(*other.context, other.bits & kInherited);
  }

  std::uint32_t references() const {
    // acquire: what ended children did, with who removes a reference
    return count.load(std::memory_order_acquire) & ~kAwaited;
  }

  // Adds `n` to those of the caller's and says how many there are then.
  std::uint32_t add_references(std::uint32_t n) {
    // relaxed: who adds has one already, as whoever ends one of the new ones got it from here
    return (count.fetch_add(n, std::memory_order_relaxed) + n) & ~kAwaited;
  }

  // Takes `n` references of the caller's back and says how many are left; without any, the record
  // may be gone.
  std::uint32_t remove_references(worker& w, std::uint32_t n) {
    const void* const key = &count;
    // release: what was done under the references, with references() and the next one who removes
    // some; acquire: the last one sees what was done under all of them
    const std::uint32_t left = count.fetch_sub(n, std::memory_order_acq_rel) - n;
    if (CORBEL_UNLIKELY(left == (kAwaited | 1))) notify_waiters(w, key);
    return left & ~kAwaited;
  }
};
static_assert(sizeof(classic_record) % 16 == 0, "tasks are aligned as operator new aligns");
static_assert(sizeof(task_base::function) == sizeof(classic_record*), "see next_in_list");

// ---- in the library -----------------------------------------------------------------------------

// What classic tasks have in task_base::run.
CORBEL_EXPORT task_base* run_classic(task_base* self, worker& w, bool cancelled);

// Runs `first` (if any), a child of `waiting`, and then tasks until `waiting` has one reference
// left. Throws what the group of `waiting` has thrown.
CORBEL_EXPORT void wait_classic(worker& w, classic_record& waiting, classic_record* first);

// Where there is more to it than a push: the task wants to run in a certain place.
CORBEL_EXPORT void spawn_with_affinity(worker& w, classic_record& r);

// In the thread's own arena if there is no other.
struct arena_handle;
CORBEL_EXPORT void enqueue_classic(worker& w, classic_record& r, arena_handle* arena = nullptr);

CORBEL_EXPORT std::uint32_t state_of_classic(const classic_record& r) noexcept;

// Fills in the context and its marks for a root that is allocated in this thread.
CORBEL_EXPORT void set_root_context(worker& w, classic_record& r);

// The task that this thread runs, or one that stands for what it does outside of classic tasks.
CORBEL_EXPORT task& current_classic(worker& w);

// ---- memory -------------------------------------------------------------------------------------

// A record in front of room for an object of `bytes`, in a group with its marks.
inline classic_record* allocate_record(worker& w, std::size_t bytes, context_node* group,
                                       std::uint32_t marks, classic_record* parent) {
  constexpr std::size_t kFront = kCacheLine;  // of a large block: keeps the alignment
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) raise(std::bad_alloc());
  bytes += sizeof(classic_record);
  std::size_t c = block_cache::class_of(bytes);
  void* memory;
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    memory = allocate_task(w, bytes);
  } else {
    void* const block = allocate_block(bytes + kFront);
    ::new (block) std::size_t(bytes + kFront);
    memory = static_cast<char*>(block) + kFront;
    c = classic_record::kLarge;
  }
  static_assert(std::size_t(block_cache::kClasses) <= std::size_t(classic_record::kLarge),
                "the class has three bits");
  classic_record* const r = ::new (memory) classic_record;
  r->run = &run_classic;
  r->context = group;
  r->count.store(0, std::memory_order_relaxed);  // relaxed: nobody else has it yet
  r->bits = classic_record::kAllocated | marks | (std::uint32_t(c) << classic_record::kSizeShift);
  r->parent = parent;
  return r;
}

inline void deallocate_record(worker& w, classic_record* r) noexcept {
  const std::size_t c = (r->bits & classic_record::kSize) >> classic_record::kSizeShift;
  if (CORBEL_LIKELY(c != classic_record::kLarge)) {
    if (CORBEL_LIKELY(w.blocks.keep(r, c))) return;
    deallocate_block(r, (c + 1) * block_cache::kStep);
  } else {
    void* const block = reinterpret_cast<char*>(r) - kCacheLine;
    deallocate_block(block, *static_cast<std::size_t*>(block));
  }
}

// A record whose task belongs where that of `relative` belongs.
inline classic_record* allocate_relative(worker& w, std::size_t bytes,
                                         const classic_record& relative, classic_record* parent) {
  return allocate_record(w, bytes, relative.context, relative.bits & classic_record::kInherited,
                         parent);
}

// The marks of a task in a group that the program gave.
inline std::uint32_t marks_of(const task_group_context& group) {
  return (group.traits() & task_group_context::concurrent_wait) == 0
             ? std::uint32_t(classic_record::kExplicit)
             : std::uint32_t(classic_record::kExplicit | classic_record::kConcurrent);
}

// What a wait for roots counts with: a parent for them that is no task. It has the wait's reference
// and that of the first root.
struct classic_anchor : classic_record {
  explicit classic_anchor(const classic_record& root) {
    run = nullptr;
    context = root.context;
    count.store(2, std::memory_order_relaxed);  // relaxed: nobody else has it yet
    bits = kAnchor | (root.bits & kExplicit);
    parent = nullptr;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CLASSIC_RECORD_HPP
