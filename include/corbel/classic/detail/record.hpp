// SPDX-License-Identifier: Apache-2.0
// The record in front of every classic task: its parent, its reference count and its flags. Not for
// programs to include.
//
// A record and a small task fill one cache line, so a fork touches few lines.
#ifndef CORBEL_CLASSIC_DETAIL_RECORD_HPP
#define CORBEL_CLASSIC_DETAIL_RECORD_HPP

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
  // The number of references to the task: its children that have not ended, and one for a thread
  // that waits for it. src/sched/classic/classic_task.cpp says how it is counted down.
  std::atomic<std::uint32_t> count;
  std::uint32_t bits;  // the state, the flags, and from bit 16 on the affinity
  classic_record* parent;

  // Flag in `count`: a thread sleeps until one reference is left.
  static constexpr std::uint32_t kAwaited = 1U << 31;

  // The fields of `bits`, which is read and written as a whole: reading a part of a word that has
  // just been written would stall on store forwarding.
  enum : std::uint32_t {
    kState = 0x7,  // one of task::state_type
    kExecuting = 0,
    kReexecute,
    kReady,
    kAllocated,
    kFreed,
    kRecycle,
    kRecycleToEnqueue,

    kToEnqueue = 1U << 3,  // enqueued, instead of run, when its last reference is removed
    kOwn = 1U << 4,        // the context is that of a thread, a classic::OwnGroup

    kSize = 7U << 8,  // size class of the block; kLarge: the size is stored before the record
    kSizeShift = 8,
    kLarge = 7,
    kStolen = 1U << 11,      // came from another thread
    kExplicit = 1U << 12,    // the context is a task_group_context passed by the program
    kBorrowed = 1U << 13,    // the context is that of the algorithm in which the task was allocated
    kConcurrent = 1U << 14,  // several threads may wait
    kEnqueued = 1U << 15,
    kInherited = kOwn | kExplicit | kBorrowed | kConcurrent,  // by children and continuations

    kAffinityShift = 16
  };

  std::uint32_t state() const { return bits & kState; }
  void set_state(std::uint32_t state) { bits = (bits & ~std::uint32_t(kState)) | state; }
  // 1 + the index of a slot of the arena; 0: none.
  std::uint16_t affinity() const { return std::uint16_t(bits >> kAffinityShift); }

  task& object();
  static classic_record& of(task& t);
  static const classic_record& of(const task& t);

  // In a task_list, the memory of `run` holds the pointer to the next record.
  classic_record* next_in_list() const {
    classic_record* next;
    std::memcpy(&next, &run, sizeof next);
    return next;
  }
  void set_next_in_list(classic_record* next) { std::memcpy(&run, &next, sizeof next); }

  // Whether the context is an OwnGroup. Programs that were compiled before there was kOwn leave it
  // where they set another context.
  bool is_in_own_group() const { return (bits & (kOwn | kExplicit | kBorrowed)) == kOwn; }

  void set_group(context_node& node, std::uint32_t group_flags) {
    context = &node;
    bits = (bits & ~std::uint32_t(kInherited)) | group_flags;
  }
  void take_group_of(const classic_record& other) {
    set_group(*other.context, other.bits & kInherited);
  }

  std::uint32_t references() const {
    // (1) acquire: sees what ended children did before (2)
    return count.load(std::memory_order_acquire) & ~kAwaited;
  }

  // Adds `n` references and returns the new number. The caller already owns a reference.
  std::uint32_t add_references(std::uint32_t n) {
    // relaxed: the caller's reference keeps the task alive, and a thread that removes a new
    // reference has got it from the caller
    return (count.fetch_add(n, std::memory_order_relaxed) + n) & ~kAwaited;
  }

  // Removes `n` references of the caller and returns how many are left. If none is, another thread
  // may have freed the record.
  std::uint32_t remove_references(thread_data& thread, std::uint32_t n) {
    const void* const key = &count;
    // (2) release: publishes what was done under the references to (1) and to the next (2).
    // acquire: the thread that removes the last one sees what was done under all of them.
    const std::uint32_t left = count.fetch_sub(n, std::memory_order_acq_rel) - n;
    if (CORBEL_UNLIKELY(left == (kAwaited | 1))) notify_waiters(thread, key);
    return left & ~kAwaited;
  }
};
static_assert(sizeof(classic_record) % 16 == 0, "tasks are aligned as operator new aligns");
static_assert(sizeof(task_base::function) == sizeof(classic_record*), "see next_in_list");

// ---- in the library -----------------------------------------------------------------------------

// task_base::run of classic tasks.
CORBEL_EXPORT task_base* run_classic(task_base* self, thread_data& thread, bool cancelled);

// Runs `first`, a child of `waiting`, unless it is nullptr, and then tasks until `waiting` has one
// reference left. Throws the exception of the group of `waiting`, if there is one.
CORBEL_EXPORT void wait_classic(thread_data& thread, classic_record& waiting,
                                classic_record* first);

// Spawns a task that has an affinity, and puts it into the mailbox of that slot as well.
CORBEL_EXPORT void spawn_with_affinity(thread_data& thread, classic_record& r);

// Enqueues the task in `arena`, or in the thread's own arena if that is nullptr.
struct arena_handle;
CORBEL_EXPORT void enqueue_classic(thread_data& thread, classic_record& r,
                                   arena_handle* arena = nullptr);

CORBEL_EXPORT std::uint32_t state_of_classic(const classic_record& r) noexcept;

// Sets the context and its flags for a root that is allocated in this thread. Throws bad_alloc, and
// has deallocated the record then.
CORBEL_EXPORT void set_root_context(thread_data& thread, classic_record& r);

// Returns the task that this thread runs; outside of classic tasks, one that represents the body or
// the thread.
CORBEL_EXPORT task& current_classic(thread_data& thread);

// ---- memory -------------------------------------------------------------------------------------

// Allocates a record, followed by memory for an object of `bytes`. Throws bad_alloc.
inline classic_record* allocate_record(thread_data& thread, std::size_t bytes, context_node* group,
                                       std::uint32_t group_flags, classic_record* parent) {
  constexpr std::size_t kFront = kCacheLine;  // before the record of a large block; keeps alignment
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) raise(std::bad_alloc());
  bytes += sizeof(classic_record);
  std::size_t c = block_cache::class_of(bytes);
  void* memory;
  if (CORBEL_LIKELY(c < block_cache::kClasses)) {
    memory = allocate_task(thread, bytes);
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
  r->count.store(0, std::memory_order_relaxed);  // relaxed: no other thread has the record yet
  r->bits =
      classic_record::kAllocated | group_flags | (std::uint32_t(c) << classic_record::kSizeShift);
  r->parent = parent;
  return r;
}

inline void deallocate_record(thread_data& thread, classic_record* r) noexcept {
  const std::size_t c = (r->bits & classic_record::kSize) >> classic_record::kSizeShift;
  if (CORBEL_LIKELY(c != classic_record::kLarge)) {
    if (CORBEL_LIKELY(thread.blocks.keep(r, c))) return;
    deallocate_block(r, (c + 1) * block_cache::kStep);
  } else {
    void* const block = reinterpret_cast<char*>(r) - kCacheLine;
    deallocate_block(block, *static_cast<std::size_t*>(block));
  }
}

// Allocates a record in the group of `relative`. Throws bad_alloc.
inline classic_record* allocate_relative(thread_data& thread, std::size_t bytes,
                                         const classic_record& relative, classic_record* parent) {
  return allocate_record(thread, bytes, relative.context,
                         relative.bits & classic_record::kInherited, parent);
}

// Returns the flags of a task in a context passed by the program.
inline std::uint32_t flags_of(const task_group_context& group) {
  return (group.traits() & task_group_context::concurrent_wait) == 0
             ? std::uint32_t(classic_record::kExplicit)
             : std::uint32_t(classic_record::kExplicit | classic_record::kConcurrent);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_CLASSIC_DETAIL_RECORD_HPP
