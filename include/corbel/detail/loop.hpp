// SPDX-License-Identifier: Apache-2.0
// The engine of parallel loops and reductions: how pieces of a loop are offered, stolen and joined.
// A Loop (chunk_loop.hpp, range_loop.hpp) says what a piece is and how it is cut. Not for programs
// to include.
//
// A thread works on a loop through a loop_runner, which runs one piece. The runner's task is its
// ticket: the right to take half of what the runner has not begun. It lies in one deque at a time.
// The thread that steals the ticket takes the half, also while the runner is inside the body,
// pushes the ticket again, now to its own deque, and runs the half with a runner and a ticket of
// its own. So while something is left that no thread has begun, there is a ticket for it in some
// deque, and the number of threads that take part can double with every steal. A loop that no
// thread steals from pays one push and one pop.
//
// Joins. The bodies of a runner and of the runners that stole from it are joined in the order of
// the range, and no thread waits except the caller. A stolen task has three sides: the runner that
// it was stolen from, the runner that executes it, and its ticket. The side that ends last joins
// the two bodies, frees the task, and so ends one side of the task's parent. The parent is the task
// that was stolen from the same runner before, which lies to the right, or else that runner's own
// task.
#ifndef CORBEL_DETAIL_LOOP_HPP
#define CORBEL_DETAIL_LOOP_HPP

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/flag.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/manual_lifetime.hpp>
#include <corbel/detail/remainder.hpp>
#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/mutex.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// Puts the task into the mailbox of a slot: the thread in that slot runs it if there is one.
// Strong guarantee; throws bad_alloc.
CORBEL_EXPORT void mail_task(thread_data& thread, task_base& t, unsigned slot);

// How a stolen piece gets a body. parallel_for copies it and joins nothing.
struct copy_body {
  template <typename Storage, typename Body>
  static void make(Storage& storage, Body& left) {
    storage.make(left);
  }
  template <typename Body>
  static void join(Body&, Body&) {}
};

// parallel_reduce splits the stolen piece's body off the body on its left, and joins the two at the
// end.
struct split_body {
  template <typename Storage, typename Body>
  static void make(Storage& storage, Body& left) {
    storage.make(left, split());
  }
  template <typename Body>
  static void join(Body& left, Body& right) {
    left.join(right);
  }
};

// What a runner has not begun.
using remainder = basic_remainder<plain_atomic, deque_system>;

// One call of an algorithm; lives in the caller's frame.
template <typename Loop>
struct loop_call {
  context_node& group;
  const Loop& loop;
  flag done;  // set only if the caller does not end last

  loop_call(context_node& g, const Loop& l) : group(g), loop(l), done(0) {}
};

template <typename Loop, typename Body, typename BodyPolicy>
class loop_runner;

// Calls a function without the lock that the thread holds.
struct unlocked_call {
  mutex::scoped_lock& guard;
  mutex& lock;

  template <typename F>
  void operator()(const F& f) const {
    guard.release();
    f();
    guard.acquire(lock);
  }
};

// The task of a runner. The caller's lies in its frame; the others are made by thieves, or by send.
template <typename Loop, typename Body, typename BodyPolicy>
struct loop_task : task_base {
  using piece_type = typename Loop::piece;
  using runner = loop_runner<Loop, Body, BodyPolicy>;

  loop_call<Loop>* const call;
  loop_task* const parent;           // nullptr: this is the caller's
  loop_task* const origin;           // its runner's piece was to the left; nullptr for the caller's
  std::atomic<std::uint32_t> sides;  // not ended yet
  bool has_body = false;
  bool has_result = false;  // the body was called, or a body was joined to it
  manual_lifetime<typename std::remove_const<Body>::type> own_body;
  Body* body = nullptr;  // of the runner

  mutex lock;                           // protects what thieves take, and newest
  loop_task* newest = this;             // the newest task stolen or sent from this one, or itself
  typename Loop::unbegun_type unbegun;  // what thieves may take
  piece_type piece;                     // what the runner is to run

  // The caller's task.
  loop_task(loop_call<Loop>& c, Body& b, piece_type&& p, bool slow)
      : loop_task(c, nullptr, nullptr, std::move(p), slow) {
    body = &b;
  }
  // A task that is stolen or sent from the runner of `from`.
  loop_task(loop_call<Loop>& c, loop_task* up, loop_task* from, piece_type&& p, bool slow)
      : task_base(&start),
        call(&c),
        parent(up),
        origin(from),
        sides(up == nullptr ? 1 : 2),
        unbegun(p, slow),
        piece(std::move(p)) {
    context = &c.group;
  }
  ~loop_task() {
    if (has_body) own_body.destroy();
  }

  // Memory for a task, from the thread's block cache. Throws bad_alloc.
  static CORBEL_NOINLINE void* allocate(thread_data& thread) {
    static_assert(alignof(loop_task) <= kCacheLine, "task blocks are aligned to cache lines");
    return allocate_task(thread, sizeof(loop_task));
  }
  static CORBEL_NOINLINE void deallocate(thread_data& thread, void* memory) noexcept {
    deallocate_task(thread, memory, sizeof(loop_task));
  }

  // A block for a task, which is given back unless it is released.
  struct block {
    thread_data& owner;
    void* memory;

    explicit block(thread_data& thread) : owner(thread), memory(allocate(thread)) {}
    ~block() {
      if (memory != nullptr) deallocate(owner, memory);
    }
    block(const block&) = delete;
    block& operator=(const block&) = delete;
    void release() { memory = nullptr; }
  };

  // Makes the task available: as the ticket of its runner, which calls it, or which the caller has
  // stolen it from. Throws bad_alloc; the ticket's side is not ended then.
  CORBEL_NOINLINE void push(thread_data& thread) { spawn(thread, *this); }

  // Runs a task that was stolen or sent, with a runner of its own.
  CORBEL_NOINLINE void run_piece(thread_data& thread) {
    loop_call<Loop>& c = *call;
    const chunk_trace trace(thread);
    runner r(thread, *this);
    call_captured(c.group, [&] {
      // (2) acquire: sees what the other runner did before (1). If its side has ended, its body has
      // all that lies to the left of the piece, and no thread uses it: this runner goes on with it.
      if (sides.load(std::memory_order_acquire) == 1) {
        body = origin->body;
      } else {
        BodyPolicy::make(own_body, *origin->body);
        has_body = true;
        body = &own_body.get();
      }
      has_result = true;
      c.loop.run(r, piece);
    });
    if (r.end()) set_flag(thread, c.done);
  }

  // The function of a sent task.
  static task_base* start(task_base* self, thread_data& thread, bool cancelled) {
    loop_task& t = *static_cast<loop_task*>(self);
    if (!cancelled) {
      t.run_piece(thread);
    } else {
      leave(thread, t);
    }
    return nullptr;
  }

  // The function of a ticket.
  static task_base* share(task_base* self, thread_data& thread, bool cancelled) {
    loop_task& ticket = *static_cast<loop_task*>(self);
    loop_call<Loop>& c = *ticket.call;
    loop_task* stolen = nullptr;
    bool is_pushed = false;
    if (!cancelled) {
      call_captured(c.group, [&] {
        stolen = ticket.steal(thread);
        if (stolen == nullptr) return;
        ticket.push(thread);
        is_pushed = true;
      });
    }
    // Once it is pushed, the ticket belongs to the next thread that takes it.
    if (!is_pushed) leave(thread, ticket);
    if (stolen != nullptr) stolen->run_piece(thread);
    return nullptr;
  }

  // Takes part of what the runner has not begun; nullptr if nothing is left. Throws bad_alloc and
  // what moving a piece throws.
  CORBEL_NOINLINE loop_task* steal(thread_data& thread) {
    block place(thread);
    mutex::scoped_lock guard(lock);
    const bool slow = thread.tasks->is_slow();
    const unlocked_call unlocked{guard, lock};
    const bool taken = unbegun.steal(call->loop, unlocked, [&](piece_type&& p) {
      newest = ::new (place.memory) loop_task(*call, newest, this, std::move(p), slow);
      place.release();
    });
    return taken ? newest : nullptr;
  }

  // Ends one side of a task whose piece this thread does not run.
  static void leave(thread_data& thread, loop_task& t) {
    loop_call<Loop>& c = *t.call;
    if (end_side(thread, &t)) set_flag(thread, c.done);
  }

  // Ends one side of the task, and joins the tasks whose last side that ends. Returns whether the
  // whole loop has ended.
  static CORBEL_NOINLINE bool end_side(thread_data& thread, loop_task* t) {
    for (;;) {
      trace_end(thread, &t->call->done);
      // (1) acq_rel: release publishes what this side did, also to (2) and (3); acquire shows the
      // side that ends last what the others did before their own (1)
      if (t->sides.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
      loop_task* const up = t->parent;
      if (up == nullptr) return true;
      // A cancelled loop is joined too: a body that cancels its own loop because it has found
      // something, as libstdc++'s do, needs the result to be passed on. A loop that has thrown is
      // not joined.
      if (t->has_result && !t->call->group.has_failed()) {
        if (t->has_body) {
          call_captured(t->call->group, [t] {
            BodyPolicy::template join<Body>(*t->origin->body, t->own_body.get());
          });
        }
        t->origin->has_result = true;
      }
      t->~loop_task();
      deallocate(thread, t);
      t = up;
    }
  }
};

// The work of one thread on a loop: its piece, except what thieves take of it.
template <typename Loop, typename Body, typename BodyPolicy>
class loop_runner {
 public:
  using task = loop_task<Loop, Body, BodyPolicy>;
  using piece_type = typename Loop::piece;

  loop_runner(thread_data& thread, task& own) : thread_(thread), task_(own) {}
  loop_runner(const loop_runner&) = delete;
  loop_runner& operator=(const loop_runner&) = delete;

  // ---- called by the Loop

  thread_data& thread() const { return thread_; }
  // Whether this is the runner of the thread that called the algorithm.
  bool is_first() const { return task_.parent == nullptr; }
  context_node& group() const { return task_.call->group; }
  Body& body() const { return *task_.body; }
  // Asked in front of each chunk.
  bool is_cancelled() const { return is_cancelled_between_chunks(thread_, group()); }
  // What thieves may take, and the lock that they hold while they do.
  typename Loop::unbegun_type& unbegun() const { return task_.unbegun; }
  mutex& lock() const { return task_.lock; }

  // The body has not been called, because the loop is cancelled.
  void has_done_nothing() { task_.has_result = false; }

  // Lets other threads take what the runner has not begun. There is no ticket yet, or it was
  // dropped. Strong guarantee; throws bad_alloc.
  void offer() {
    task_.run = &task::share;
    // relaxed: the push publishes it
    task_.sides.fetch_add(1, std::memory_order_relaxed);
    struct side {
      task* of;
      ~side() {
        // relaxed: the runner's own side has not ended
        if (of != nullptr) of->sides.fetch_sub(1, std::memory_order_relaxed);
      }
    } reserved{&task_};
    trace_chunk(thread_);
    task_.push(thread_);
    reserved.of = nullptr;
    is_offered_ = true;
  }

  // Takes the ticket back, if no thread has stolen it. Returns whether no other thread can have it:
  // then what the runner has done is all.
  bool take_ticket() {
    while (is_offered_) {
      task_base* const popped = thread_.tasks->pop();
      if (CORBEL_LIKELY(popped == &task_)) {
        is_offered_ = false;
        has_taken_ticket_ = true;
        trace_no_push(thread_, task_);
      } else if (popped == nullptr) {
        return false;
      } else {
        // A body spawned this task and did not wait for it.
        run_any(thread_, popped);
      }
    }
    return true;
  }

  // Gives the piece away for good: to the thread in `slot`, if there is one. The runner must not
  // have offered anything. Strong guarantee; throws bad_alloc and what moving the piece throws.
  CORBEL_NOINLINE void send(piece_type&& piece, unsigned slot, unsigned own_slot) {
    typename task::block place(thread_);
    struct unsent_task {
      task* made;
      ~unsent_task() {
        if (made != nullptr) made->~task();
      }
    } unsent{::new (place.memory) task(*task_.call, task_.newest, &task_, std::move(piece),
                                       thread_.tasks->is_slow())};
    if (slot == own_slot) {
      spawn(thread_, *unsent.made);
    } else {
      mail_task(thread_, *unsent.made, slot);
    }
    task_.newest = unsent.made;
    unsent.made = nullptr;
    place.release();
  }

  // ---- called by the engine

  // Ends the runner's side of its tasks, newest first. Returns whether the whole loop has ended.
  // What a cancelled run has not begun is dropped.
  bool end() {
    if (take_ticket()) {
      // (3) acquire: a thief that has dropped an earlier ticket ends its side only after that (1)
      if (is_first() && task_.newest == &task_ &&
          task_.sides.load(std::memory_order_acquire) == (has_taken_ticket_ ? 2U : 1U)) {
        return true;
      }
      // The ticket's side. relaxed: the runner's own side ends later
      if (has_taken_ticket_) task_.sides.fetch_sub(1, std::memory_order_relaxed);
    } else {
      mutex::scoped_lock guard(task_.lock);
      task_.unbegun.close();
    }
    trace_end_of_chunks(thread_, &task_.call->done);
    return task::end_side(thread_, task_.newest);
  }

 private:
  thread_data& thread_;
  task& task_;
  bool is_offered_ = false;
  bool has_taken_ticket_ = false;
};

// The Loop that runs a Range with a Partitioner (range_loop.hpp).
template <typename Range, typename Partitioner>
struct loop_for;

// Calls the body for every part of the range and returns when all calls have ended. What they throw
// is left in the group. Throws what making the Loop throws. `Partitioner` is what
// chosen_partitioner gives.
template <typename BodyPolicy, typename Partitioner, typename Range, typename Body>
inline void run_loop(thread_data& thread, context_node& group, const Range& range, Body& body,
                     Partitioner partitioner) {
  using loop_type =
      typename loop_for<Range, typename std::remove_reference<Partitioner>::type>::type;
  const loop_type loop(thread, range, partitioner);
  loop_call<loop_type> call(group, loop);
  using task_type = loop_task<loop_type, Body, BodyPolicy>;
  task_type task(call, body, loop.whole(), thread.tasks->is_slow());
  loop_runner<loop_type, Body, BodyPolicy> runner(thread, task);
  // No object with a destructor: nothing here throws, and the compiler keeps more in registers.
  chunk_frame chunks;
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) begin_traced_loop(thread, chunks);
  call_captured(group, [&] { loop.run(runner, task.piece); });
  if (CORBEL_UNLIKELY(!runner.end())) wait_for_flag(thread, call.done);
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) end_traced_loop(thread, chunks, &call.done);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_LOOP_HPP
