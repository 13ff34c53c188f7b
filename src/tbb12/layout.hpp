// SPDX-License-Identifier: Apache-2.0
// The objects that programs compiled with oneTBB's headers (2021.5 to 2023) share with
// libtbb.so.12, as far as the library reads or writes them. Their names are part of the binary
// interface, since the exported functions' names contain them. What a program's inlined code never
// touches is Corbel's to use; the comments say where.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/task.hpp>
#include <corbel/task_group_context.hpp>

namespace tbb::detail {

namespace d0 {
enum class exception_id {
  bad_alloc = 1,
  bad_last_alloc,
  user_abort,
  nonpositive_step,
  out_of_range,
  reservation_length_error,
  missing_wait,
  invalid_load_factor,
  invalid_key,
  bad_tagged_msg_cast,
  unsafe_wait
};
enum string_resource_index : std::uintptr_t {};
enum itt_relation {};
}  // namespace d0

namespace r1 {
class arena;
class observer_proxy;
class concurrent_monitor;
struct suspend_point_type;
}  // namespace r1

namespace d1 {

enum itt_domain_enum {};
using slot_id = unsigned short;
constexpr slot_id kNoSlot = 0xffff;
constexpr slot_id kAnySlot = 0xfffe;

// ---- contexts

// 128 bytes. The program's code reads `state`, `actual` and `traits`.
struct task_group_context {
  enum : std::uint8_t { kFloatingPoint = 1, kBound = 4 };  // traits
  // State. The program's code compares it with kProxy only.
  enum : std::uint8_t { kCreated = 0, kInUse = 1, kProxy = 255 };

  std::uint64_t floating_point;
  std::atomic<std::uint32_t> is_cancelled;
  std::uint8_t version;
  std::uint8_t traits;
  std::uint8_t may_have_children;
  std::atomic<std::uint8_t> state;
  task_group_context* actual;  // of a proxy
  void* unused[5];
  std::uintptr_t name;
  alignas(corbel::task_group_context) unsigned char own[sizeof(corbel::task_group_context)];
};
static_assert(sizeof(task_group_context) == 128);
static_assert(offsetof(task_group_context, name) == 64);

inline corbel::task_group_context& own_context(task_group_context& c) {
  return *reinterpret_cast<corbel::task_group_context*>(c.own);
}

// ---- tasks

struct execution_data {
  task_group_context* context;
  slot_id original_slot;  // where it was spawned
  slot_id affinity_slot;  // where it was to run; kNoSlot: anywhere
};

struct task_fields {
  std::uint64_t version_and_traits;
  corbel::detail::task_base own;  // what is in the deques
  slot_id original_slot;
  slot_id affinity_slot;
  std::uint64_t unused[3];
};

// 64 bytes. The program's code touches only the vtable.
class alignas(64) task : public task_fields {
 protected:
  virtual ~task() = default;

 public:
  virtual task* execute(execution_data&) = 0;
  virtual task* cancel(execution_data&) = 0;
};
static_assert(sizeof(task) == 64);

// 16 bytes. The program's code counts in `references`, and calls notify_waiters when it reaches 0.
struct wait_context {
  std::uint64_t version_and_traits;
  std::atomic<std::uint64_t> references;
};

// Counts for a wait_context; the program's.
class wait_tree_vertex_interface {
 public:
  virtual void reserve(std::uint32_t delta) = 0;
  virtual void release(std::uint32_t delta) = 0;

 protected:
  virtual ~wait_tree_vertex_interface() = default;
};

// Only its address is passed around.
class small_object_pool {};

// A function of the program.
class delegate_base {
 public:
  virtual bool operator()() const = 0;
  virtual ~delegate_base() = default;
};

// ---- arenas

struct constraints {
  int numa_id;
  int max_concurrency;
  int core_type;
  int max_threads_per_core;
};

struct task_arena_base {
  enum : std::intptr_t { kHasCoreType = 1 };   // version_and_traits
  enum : int { kNotMade, kBeingMade, kMade };  // initialization
  static constexpr int kAutomatic = -1;
  static constexpr int kPriorityStep = 0x7fffffff / 4;  // low, normal and high are 1, 2 and 3 of it

  std::intptr_t version_and_traits;
  std::atomic<int> initialization;
  std::atomic<r1::arena*> arena;  // corbel::detail::arena_handle
  int max_concurrency;
  unsigned reserved_slots;
  int priority;
  int numa_id;
  int core_type;
  int max_threads_per_core;
};
static_assert(offsetof(task_arena_base, arena) == 16);

class task_scheduler_observer {
 public:
  std::atomic<r1::observer_proxy*> proxy;  // the program's code reads whether there is one
  std::atomic<std::intptr_t> busy_count;
  task_arena_base* arena;

  virtual void on_scheduler_entry(bool is_worker) = 0;
  virtual void on_scheduler_exit(bool is_worker) = 0;
  virtual ~task_scheduler_observer() = default;
};

// ---- settings

struct global_control {
  std::size_t value;
  std::intptr_t own;  // the address of a corbel::global_control
  int parameter;
};

struct task_scheduler_handle {
  global_control* control;  // the program's code reads whether there is one
};

// ---- pipelines

class base_filter {
 public:
  enum : unsigned { kSerial = 1, kOutOfOrder = 2, kMayBeNull = 4 };  // mode

  virtual void* operator()(void* item) = 0;
  virtual ~base_filter() = default;
  virtual void finalize(void* item) = 0;

  base_filter* next;
  void* unused;
  unsigned mode;
  void* pipeline;
};

class filter_node {
 public:
  std::atomic<std::intptr_t> references;
  filter_node* left;
  filter_node* right;

  virtual base_filter* create_filter() const = 0;
  virtual ~filter_node() = default;
};

}  // namespace d1
}  // namespace tbb::detail

#define CORBEL_TBB12 __attribute__((visibility("default")))
