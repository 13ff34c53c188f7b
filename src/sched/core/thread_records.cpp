// SPDX-License-Identifier: Apache-2.0
#include "sched/core/thread_records.hpp"

#include "sched/core/block_pool.hpp"
#include "sched/core/cancellation.hpp"
#include "sched/core/lock_ranks.hpp"
#include "sched/core/other_stacks.hpp"
#include "sched/core/parked_threads.hpp"
#include "sched/core/signal_mode.hpp"

namespace corbel::sched {
namespace {

constinit sync::Lock unused_lock{kUnusedThreads};
constinit Thread* unused = nullptr;
constinit std::atomic<Thread*> all{nullptr};

Thread* make_record() {
  auto* t = new Thread;
  t->next_made = all.load(std::memory_order_relaxed);  // relaxed: only to link it
  // (1) release: publishes the object to (2). relaxed on failure: only to link it
  while (!all.compare_exchange_weak(t->next_made, t, std::memory_order_release,
                                    std::memory_order_relaxed)) {
  }
  return t;
}

}  // namespace

std::uint64_t stolen_tasks() {
  std::uint64_t sum = 0;
  // (2) acquire: sees the objects of (1); those that others have linked since continue its release
  // sequence
  for (const Thread* t = all.load(std::memory_order_acquire); t != nullptr; t = t->next_made) {
    sum += t->stolen.load(std::memory_order_relaxed);  // relaxed: a statistic
  }
  return sum;
}

sync::Lock& unused_threads_lock() { return unused_lock; }

Thread& make_thread(Thread* kept) {
  Thread* t = kept;
  if (t == nullptr) {
    {
      sync::LockGuard guard(unused_lock);
      t = unused;
      if (t != nullptr) unused = t->next_unused;
    }
    if (t == nullptr) t = make_record();
    if (t->classic_state != nullptr) t->former_classic_state = t->classic_state;
    t->classic_state = nullptr;
  }
  static_cast<detail::thread_data&>(*t) = detail::thread_data();
  t->arena = nullptr;
  t->slot = nullptr;
  t->isolation = kNoIsolation;
  t->is_worker = false;
  t->has_floating_point = false;
  t->implicit_arena = nullptr;
  t->seen_global = 0;
  t->waits = 0;
  t->knows_stack = false;
  t->first_frame = 0;
  t->arena_scope = nullptr;
  t->around = nullptr;
  t->awaited = nullptr;
  // relaxed, all: other threads get the context only with one of this thread's tasks
  t->root.link.store(0, std::memory_order_relaxed);
  t->root.state.store(detail::cancellations.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  t->context = &t->root;
  t->cancellations = &detail::cancellations;
  t->waiting = always_signals() ? &always_set : &parked_threads.waiting();
  static constinit std::atomic<std::uint32_t> seed{0};
  // relaxed: any number but 0 will do
  t->random = (seed.fetch_add(1, std::memory_order_relaxed) + 1) * 2654435761U;
  return *t;
}

void clear_thread(Thread& t) {
  if (t.fibers != nullptr) delete_fibers(t.fibers);
  t.fibers = nullptr;
  t.has_suspended_stacks = false;
  give_back_all_blocks(t.blocks);
}

void unmake_thread(Thread& t) {
  clear_thread(t);
  sync::LockGuard guard(unused_lock);
  t.next_unused = unused;
  unused = &t;
}

}  // namespace corbel::sched
