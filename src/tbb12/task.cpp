// SPDX-License-Identifier: Apache-2.0
// Tasks: the 64 bytes of a task have room for one of Corbel's, so spawning allocates nothing.
#include <corbel/malloc.h>
#include <corbel/detail/allocate.hpp>
#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/loop.hpp>
#include <corbel/detail/suspend.hpp>
#include <corbel/task_arena.hpp>

#include <new>

#include "tbb12/running.hpp"

namespace corbel::tbb12 {

__thread Running* running = nullptr;

namespace {

using corbel::detail::block_cache;
using corbel::detail::call_captured;
using corbel::detail::context_use;

d1::slot_id slot_of(thread_data& thread) { return d1::slot_id(corbel::detail::slot_index(thread)); }

task_base* run(task_base* self, thread_data& thread, bool cancelled) {
  d1::task* const task = &task_of(self);
  context_node& node = *self->context;
  const d1::slot_id slot = slot_of(thread);
  // A task that was stolen was spawned in another slot; the program compares.
  const bool is_stolen = thread.arrived == self;
  if (is_stolen) thread.arrived = nullptr;  // its memory may be that of another task later
  const d1::slot_id original = is_stolen ? d1::kAnySlot : slot;
  Running now{{&context_of(node), original, task->affinity_slot}, thread, task};
  d1::task* next = nullptr;
  {
    const RunningScope scope(now);
    // A task that has thrown is cancelled: it releases what its execution has not.
    bool has_executed = false;
    if (!cancelled) {
      call_captured(node, [&] {
        next = task->execute(now);
        has_executed = true;
      });
    }
    if (CORBEL_UNLIKELY(!has_executed)) call_captured(node, [&] { next = task->cancel(now); });
  }
  if (next == nullptr) return nullptr;
  prepare(*next, node, d1::kNoSlot);
  return &next->own;
}

bool is_done(const void* key) {
  // (3) acquire: sees what the tasks did before the program's code released their references, which
  // it does by a sequentially consistent subtraction
  return static_cast<const d1::wait_context*>(key)->references.load(std::memory_order_acquire) == 0;
}

// Runs the thread's own tasks; returns false if it must wait for those of others.
bool is_over(thread_data& thread, context_node& node, const d1::wait_context& count) {
  if (is_done(&count)) {
    // The parallel call ends without a pop, which would tell thieves that they need no barrier.
    thread.tasks->acknowledge_thefts();
    return !thread.has_suspended_stacks;
  }
  return corbel::detail::run_own(thread, node, [&] { return is_done(&count); });
}

// The node of the tasks that are to run in the context. As in the original, the first of them binds
// a context, so a cancellation of the calling task's context concerns it from then on, not only
// when a wait links it.
context_node& node_for_tasks(d1::task_group_context& given, thread_data& thread) {
  using State = d1::task_group_context;
  d1::task_group_context& context = actual_context(given);
  // relaxed, both: a thread that does it again does no harm
  if (CORBEL_UNLIKELY(context.state.load(std::memory_order_relaxed) == State::kCreated)) {
    context.state.store(State::kInUse, std::memory_order_relaxed);
    if (thread.is_cancelled(*thread.context)) {
      context_access::take_cancellation(d1::own_context(context), *thread.context);
    }
  }
  return node_of(context);
}

// Runs `first`, if it is not nullptr, and waits.
void run_and_wait(task_base* first, d1::wait_context& count, d1::task_group_context& context) {
  thread_data& thread = current_thread();
  context_node& node = node_of(context);
  {
    const RunningScope scope;
    context_use use(thread, d1::own_context(context));
    if (first != nullptr) corbel::detail::run_task(thread, first);
    if (!is_over(thread, node, count)) corbel::detail::wait_until(thread, &count, &is_done);
  }
  if (node.has_failed()) corbel::detail::rethrow_copy(node);
}

corbel::detail::arena_handle& handle_of(r1::arena* arena) {
  return *reinterpret_cast<corbel::detail::arena_handle*>(arena);
}

d1::small_object_pool the_pool;

// Headers before 2022 free some tasks as if they had the size of their base class, 128 bytes. So
// the size tells only whether a block is one of 64 bytes; the address tells the other two kinds
// apart: blocks of the largest class of the thread's cache, and larger ones.
constexpr std::size_t kSmall = block_cache::kStep;
constexpr std::size_t kMedium = block_cache::kStep * block_cache::kClasses;
static_assert(kSmall == 64 && kMedium == 256);
constexpr std::size_t kLargeAlignment = 256;  // blocks of the cache's largest class never have it

void* allocate_for_task(thread_data& thread, std::size_t bytes) {
  if (CORBEL_UNLIKELY(bytes > kMedium)) {
    return corbel::detail::allocate_or_throw(corbel_allocate, bytes, kLargeAlignment);
  }
  return corbel::detail::allocate_task(thread, bytes <= kSmall ? kSmall : kMedium);
}

void deallocate_for_task(thread_data& thread, void* memory, std::size_t bytes) {
  if (bytes <= kSmall) {
    corbel::detail::deallocate_task(thread, memory, kSmall);
  } else if (CORBEL_UNLIKELY(reinterpret_cast<std::uintptr_t>(memory) % kLargeAlignment == 0)) {
    corbel_deallocate(memory);
  } else {
    corbel::detail::deallocate_task(thread, memory, kMedium);
  }
}

}  // namespace

void prepare(d1::task& t, context_node& node, d1::slot_id affinity) {
  t.own.run = &run;
  t.own.context = &node;
  t.affinity_slot = affinity;
}

}  // namespace corbel::tbb12

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

CORBEL_TBB12 void spawn(d1::task& t, d1::task_group_context& context) {
  thread_data& thread = current_thread();
  prepare(t, node_for_tasks(context, thread), d1::kNoSlot);
  corbel::detail::spawn(thread, t.own);
}

CORBEL_TBB12 void spawn(d1::task& t, d1::task_group_context& context, d1::slot_id slot) {
  thread_data& thread = current_thread();
  prepare(t, node_for_tasks(context, thread), slot);
  if (slot >= d1::kAnySlot || slot == slot_of(thread) ||
      slot >= corbel::detail::arena_width(thread)) {
    corbel::detail::spawn(thread, t.own);
  } else {
    corbel::detail::mail_task(thread, t.own, slot);
  }
}

CORBEL_TBB12 void execute_and_wait(d1::task& t, d1::task_group_context& of_task,
                                   d1::wait_context& count, d1::task_group_context& of_wait) {
  prepare(t, node_of(actual_context(of_task)), d1::kNoSlot);
  run_and_wait(&t.own, count, actual_context(of_wait));
}

CORBEL_TBB12 void wait(d1::wait_context& count, d1::task_group_context& context) {
  run_and_wait(nullptr, count, actual_context(context));
}

CORBEL_TBB12 void notify_waiters(std::uintptr_t count) {
  corbel::detail::notify_waiters(current_thread(), reinterpret_cast<const void*>(count));
}

// Makes the task available in the arena of a graph. `is_urgent` is ignored: the graph itself orders
// the tasks of nodes with priorities among each other.
CORBEL_TBB12 void submit(d1::task& t, d1::task_group_context& context, arena* a,
                         std::uintptr_t /*is_urgent*/) {
  thread_data& thread = current_thread();
  prepare(t, node_for_tasks(context, thread), d1::kNoSlot);
  if (corbel::detail::is_in_arena(thread, handle_of(a))) {
    corbel::detail::spawn(thread, t.own);
  } else {
    corbel::detail::enqueue_in(handle_of(a), t.own);
  }
}

CORBEL_TBB12 void enqueue(d1::task& t, d1::task_group_context& context, d1::task_arena_base* a) {
  prepare(t, node_for_tasks(context, current_thread()), d1::kNoSlot);
  if (a == nullptr) {
    corbel::detail::enqueue_here(t.own);
  } else {
    corbel::detail::enqueue_in(*handle_of(*a), t.own);
  }
}

CORBEL_TBB12 void enqueue(d1::task& t, d1::task_arena_base* a) { enqueue(t, no_context(), a); }

CORBEL_TBB12 d1::slot_id execution_slot(const d1::execution_data* data) {
  if (data != nullptr) return slot_of(static_cast<const Running*>(data)->thread);
  const int slot = corbel::detail::current_slot_index();
  return slot < 0 ? d1::kNoSlot : d1::slot_id(slot);
}

CORBEL_TBB12 d1::task_group_context* current_context() {
  return running == nullptr ? nullptr : running->context;
}

CORBEL_TBB12 d1::task* current_task_ptr() { return running == nullptr ? nullptr : running->task; }

// The original counts each thread's tasks apart; here all count in the vertex itself.
CORBEL_TBB12 d1::wait_tree_vertex_interface* get_thread_reference_vertex(
    d1::wait_tree_vertex_interface* vertex) {
  return vertex;
}

// ---- memory of tasks

CORBEL_TBB12 void* allocate(d1::small_object_pool*& pool, std::size_t bytes,
                            const d1::execution_data& data) {
  pool = &the_pool;
  return allocate_for_task(static_cast<const Running&>(data).thread, bytes);
}

CORBEL_TBB12 void* allocate(d1::small_object_pool*& pool, std::size_t bytes) {
  pool = &the_pool;
  return allocate_for_task(current_thread(), bytes);
}

CORBEL_TBB12 void deallocate(d1::small_object_pool&, void* memory, std::size_t bytes,
                             const d1::execution_data& data) {
  deallocate_for_task(static_cast<const Running&>(data).thread, memory, bytes);
}

CORBEL_TBB12 void deallocate(d1::small_object_pool&, void* memory, std::size_t bytes) {
  deallocate_for_task(current_thread(), memory, bytes);
}

// ---- suspended tasks

CORBEL_TBB12 void suspend(void (*tell)(void*, suspend_point_type*), void* argument) {
  const RunningScope scope;
  struct Call {
    void (*tell)(void*, suspend_point_type*);
    void* argument;
  } call{tell, argument};
  corbel::detail::suspend(
      [](void* c, corbel::detail::suspend_point point) {
        const Call& told = *static_cast<Call*>(c);
        told.tell(told.argument, reinterpret_cast<suspend_point_type*>(point));
      },
      &call);
}

// The key of the calling thread's stack for enumerable_thread_specific: never nullptr, and no other
// stack has it. It is not for resume.
CORBEL_TBB12 suspend_point_type* current_suspend_point() {
  static thread_local char first_stack CORBEL_INITIAL_EXEC;
  const std::uintptr_t key = corbel::detail::stack_key();
  return reinterpret_cast<suspend_point_type*>(
      key != 0 ? key : reinterpret_cast<std::uintptr_t>(&first_stack));
}

CORBEL_TBB12 void resume(suspend_point_type* point) {
  corbel::detail::resume(reinterpret_cast<corbel::detail::suspend_point>(point));
}

}  // namespace tbb::detail::r1
