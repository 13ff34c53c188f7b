// SPDX-License-Identifier: Apache-2.0
// The library's own threads, and the arenas that they help.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "sched/arena.hpp"

namespace corbel::sched {

class Pool {
 public:
  // A bell that always rings: for threads that have to do more at every task than look at a word.
  static inline std::atomic<std::uint32_t> kRings{1};

  // ---- arenas

  // Makes an arena known. `release` takes one reference back; the last one, with the last task,
  // ends it. One may be added to an arena that has one, or that the calling thread is in.
  Arena& make_arena(const ArenaPlan& plan);
  static void add_reference(Arena& arena);
  void release(Arena& arena);

  // One more thread should come to the arena.
  void request(Arena& arena);

  // ---- width

  // How many threads, the program's own included, work at a time: what the machine grants by
  // default, or what global_control says.
  unsigned limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(unsigned threads);

  // Of threads that are started from now on, and of the stacks that a thread goes on with while a
  // task is suspended; 0: the system's choice.
  void set_stack_size(std::size_t bytes) {
    stack_size_.store(bytes, std::memory_order_relaxed);  // relaxed: a number
  }
  std::size_t stack_size() const {
    return stack_size_.load(std::memory_order_relaxed);
  }  // as above

  // ---- threads

  // The life of one of the library's threads.
  void run(Thread& t);

  // Lets all threads of the library end and waits for it: for the tasks that they are in, and for
  // those that arenas want them for meanwhile, too, if other threads make some. False, and nothing
  // done, when called by one of them. They start again when somebody needs them.
  bool finalize();

  // Whether tasks must ring every time.
  bool always_rings() const { return always_rings_.load(std::memory_order_relaxed); }
  void set_always_rings() { always_rings_.store(true, std::memory_order_relaxed); }

  // In the child of a fork, where none of the threads exists: as at the beginning, but for the
  // arena that `survivor` is in.
  void forget_threads(Thread* survivor);

  sync::Lock& lock() { return lock_; }

  // Calls visit(lock) for each lock of each arena, under the pool's.
  template <typename Visit>
  void each_arena_lock(Visit visit) {
    for (Arena* a = arenas_; a != nullptr; a = a->next) a->each_lock(visit);
  }

 private:
  unsigned active() const { return active_.load(std::memory_order_relaxed); }  // see active_

  // The lock, for what may change which wishes there are, or whether they can come true.
  class Change {
   public:
    explicit Change(Pool& pool) : pool_(pool), guard_(pool.lock_) {}
    ~Change() { pool_.note_urgent(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Pool& pool_;
    const sync::LockGuard guard_;
  };

  // Under the lock.
  void note_urgent();
  Arena* find_wanting(unsigned in_place_of = 0) const;
  bool may_have_more(const Arena& arena, unsigned in_place_of) const;
  void want(Arena& arena);
  void forget_vain_wishes();
  bool unlink_if_done(Arena& arena);

  void supply();
  bool start_thread() noexcept;
  Arena* join();
  bool work(Arena& arena, Thread& t);  // false: there was no place
  void quit(Arena& arena, bool entered);
  void idle(Thread& t);
  bool should_leave(const Arena& arena) const;
  bool must_leave(const Arena& arena) const;
  bool too_many(const Arena& arena) const;

  mutable sync::Lock lock_{kPool};
  Arena* arenas_ = nullptr;
  unsigned threads_ = 0;  // that exist
  // Written under the lock, read as hints without.
  std::atomic<std::uint32_t> active_{0};   // threads in an arena or on the way
  std::atomic<std::uint32_t> live_{0};     // threads_, and those that are about to end
  std::atomic<std::uint32_t> wanting_{0};  // arenas that want somebody
  // The highest priority of those to which a thread could come that leaves another arena.
  static constexpr int kNone = std::numeric_limits<int>::min();
  std::atomic<int> urgent_{kNone};
  bool has_priorities_ = false;  // there has been an arena with another than 0
  std::atomic<std::uint32_t> limit_{0};
  std::atomic<std::uint32_t> most_active_{0};  // limit_ less the thread that calls
  std::atomic<std::size_t> stack_size_{0};
  std::atomic<std::uint32_t> ending_{0};  // calls of finalize()
  std::atomic<bool> always_rings_{false};
};

extern Pool pool;

// How many threads the machine and the container grant this process; read once.
unsigned default_width();

}  // namespace corbel::sched
