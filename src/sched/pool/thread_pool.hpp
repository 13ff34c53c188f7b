// SPDX-License-Identifier: Apache-2.0
// The workers, and which arenas they work in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sched/arena/arena.hpp"
#include "sched/pool/rest.hpp"

namespace corbel::sched {

class ThreadPool {
 public:
  // ---- arenas

  // Makes an arena with one reference; throws bad_alloc. `release` gives one back; with the last
  // reference and the last task the arena ends. A caller of add_reference owns a reference or is in
  // the arena.
  Arena& make_arena(const ArenaPlan& plan);
  static void add_reference(Arena& arena);
  void release(Arena& arena);

  // ---- limits

  // See thread_limit().
  void set_limit(unsigned threads);

  // The stack size, in bytes, of threads started from now on, and of the stacks that a thread
  // continues on while a task is suspended. 0: the system's choice.
  void set_stack_size(std::size_t bytes) {
    stack_size_.store(bytes, std::memory_order_relaxed);  // relaxed: a number alone
  }
  std::size_t stack_size() const {
    return stack_size_.load(std::memory_order_relaxed);  // relaxed: a number alone
  }

  // ---- workers

  // What a worker does from its start to its end.
  void run(Thread& t);

  // Ends all workers and waits until they have ended. They first finish the tasks that they run,
  // and serve the worker requests that arenas make meanwhile. Returns false, without an effect, in
  // a worker. Workers start again when an arena requests one.
  bool finalize();

  // Whether there are workers. A hint while other threads can request one.
  bool has_workers() const {
    return live_.load(std::memory_order_relaxed) != 0;  // relaxed: as declared
  }

  // Called when the last thread of the program that the library knows of ends: ends the workers
  // that have nothing to do, and lets the others end when they have finished.
  void end_with_program();

  // In the child of a fork, which has none of the workers: resets everything but the arena that
  // `survivor` is in.
  void forget_threads(Thread* survivor);

  // For a signal handler, wherever the signal came. Returns false when the figures cannot be had.
  struct Figures {
    unsigned workers;    // that exist
    unsigned active;     // those that are in an arena, or on the way to one
    unsigned searching;  // those of them that look for tasks
  };
  bool figures_in_handler(Figures* figures);

  sync::Lock& lock() { return lock_; }

  // Calls visit(lock) for each lock of each arena, under the thread pool's lock.
  template <typename Visit>
  void each_arena_lock(Visit visit) {
    for (Arena* a = arenas_; a != nullptr; a = a->next) a->each_lock(visit);
  }

 private:
  friend void request_worker(Arena& arena);
  friend void begin_rest(Rest rest);
  friend void end_rest(Rest rest);
  friend struct DebugAccess;

  unsigned active() const {
    return active_.load(std::memory_order_relaxed);  // relaxed: under the lock, or a hint
  }
  unsigned awake() const {
    return awake_.load(std::memory_order_relaxed);  // relaxed: under the lock, or a hint
  }
  unsigned running() const;

  // Holds the lock while worker requests change, or while it changes which of them can be served.
  class RequestChange {
   public:
    explicit RequestChange(ThreadPool& pool) : pool_(pool), guard_(pool.lock_) {}
    ~RequestChange() { pool_.update_urgent(); }
    RequestChange(const RequestChange&) = delete;
    RequestChange& operator=(const RequestChange&) = delete;

   private:
    ThreadPool& pool_;
    const sync::LockGuard guard_;
  };

  // Under the lock.
  void update_urgent();
  Arena* find_request(unsigned in_place_of = 0) const;
  bool may_add_worker(const Arena& arena, unsigned in_place_of) const;
  void add_request(Arena& arena);
  void ensure_request(Arena& arena);
  void drop_request(Arena& arena);
  void drop_requests(Arena& arena);
  bool unlink_if_done(Arena& arena);

  void drop_stale_requests();
  void provide_worker();
  bool start_thread() noexcept;
  Arena* take_request();
  bool work_in(Arena& arena, Thread& t);  // false: there was no slot
  void count_in(Arena& arena);
  void count_again(Arena& arena);
  void leave_arena(Arena& arena, bool entered);
  void park_idle(Thread& t);
  bool may_end();
  static void* stand_in(void* self);
  bool should_leave(const Arena& arena) const;
  bool must_leave(const Arena& arena) const;
  bool too_many(const Arena& arena) const;

  mutable sync::Lock lock_{kThreadPool};
  Arena* arenas_ = nullptr;
  unsigned threads_ = 0;  // workers that exist
  // Written under the lock, read as hints without it.
  std::atomic<std::uint32_t> active_{0};    // workers in an arena or on the way to one
  std::atomic<std::uint32_t> awake_{0};     // those of them in no rest of suspended tasks
  std::atomic<std::uint32_t> waiting_{0};   // those that are awake_, but rest in a wait
  std::atomic<std::uint32_t> live_{0};      // threads_, and workers that are about to end
  std::atomic<std::uint32_t> requests_{0};  // worker requests of all arenas
  // The highest priority of the arenas that a worker could come to if it left its own.
  static constexpr int kNoPriority = std::numeric_limits<int>::min();
  std::atomic<int> urgent_{kNoPriority};
  bool has_priorities_ = false;               // an arena has had another priority than 0
  std::atomic<std::uint32_t> max_active_{0};  // the thread limit less the calling thread
  std::atomic<std::size_t> stack_size_{0};
  std::atomic<std::uint32_t> finalizing_{0};  // calls of finalize()
  std::atomic<bool> has_stand_in_{false};
};

extern ThreadPool thread_pool;

}  // namespace corbel::sched
