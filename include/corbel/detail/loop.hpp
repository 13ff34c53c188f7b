// SPDX-License-Identifier: Apache-2.0
// The engine of parallel loops and reductions: how pieces of a loop are exposed, stolen and joined.
// A Loop (chunk_loop.hpp, range_loop.hpp) says what a piece is and how it is cut. Not for programs
// to include.
//
// A thread works on a loop through a loop_runner. It keeps the left half of its piece and exposes
// the right half as a task. Between two calls of the body it checks whether that task has been
// stolen; only then does it expose part of what it still has (lazy splitting on demand: A. Tzannes,
// G. Caragea, R. Barua and U. Vishkin, "Lazy Binary-Splitting", PPoPP 2010, with one exposed piece
// in place of the look at the deque). When its own half is done it takes the exposed half back and
// continues. A loop that no thread steals from therefore pays a push and a pop for each halving,
// not for each call of the body.
//
// Joins. A stolen task has two sides: the runner that exposed it and the runner that executes it.
// The side that ends last joins the two bodies, frees the task, and so ends one side of the task's
// parent. The parent is the task that was stolen from the same runner before, or else the task that
// the runner itself executes. Bodies are therefore joined in the order of the range, and no thread
// waits except the caller.
#ifndef CORBEL_DETAIL_LOOP_HPP
#define CORBEL_DETAIL_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <corbel/detail/arena_slot.hpp>
#include <corbel/detail/flag.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/manual_lifetime.hpp>
#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>
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

// One call of an algorithm; lives in the caller's frame.
template <typename Loop>
struct loop_call {
  context_node& group;
  const Loop& loop;
  flag done;  // set only if the caller does not end last

  loop_call(context_node& g, const Loop& l) : group(g), loop(l), done(0) {}
};

// A piece that is exposed or stolen.
template <typename Loop, typename Body, typename BodyPolicy>
struct loop_task : task_base {
  using piece_type = typename Loop::piece;

  loop_task* parent;
  loop_call<Loop>* call;
  Body* left;                        // the body of the runner that exposed the piece
  std::atomic<std::uint32_t> sides;  // not ended yet
  bool has_body = false;
  // The position up to which the exposing runner may go before it must look again. The thief sets
  // it to 0. A loop that does not count positions starts it with 1.
  std::atomic<std::size_t> limit;
  piece_type piece;
  manual_lifetime<typename std::remove_const<Body>::type> body;

  loop_task(loop_call<Loop>& c, loop_task* up, Body& b, piece_type&& p, std::size_t first_limit)
      : task_base(&execute),
        parent(up),
        call(&c),
        left(&b),
        sides(2),
        limit(first_limit),
        piece(std::move(p)) {
    context = &c.group;
  }
  ~loop_task() {
    if (has_body) body.destroy();
  }

  // Loop tasks are made from the thread's block cache: new (thread) loop_task(...). Throws
  // bad_alloc.
  static void* operator new(std::size_t bytes, thread_data& thread) {
    static_assert(alignof(loop_task) <= kCacheLine, "task blocks are aligned to cache lines");
    return allocate_task(thread, bytes);
  }
  // Called by the language if the constructor throws.
  static void operator delete(void* memory, thread_data& thread) noexcept {
    deallocate_task(thread, memory, sizeof(loop_task));
  }
  static void destroy(thread_data& thread, loop_task* t) noexcept {
    t->~loop_task();
    deallocate_task(thread, t, sizeof(loop_task));
  }

  static task_base* execute(task_base* self, thread_data& thread, bool cancelled);
};

// The work of one thread on a loop: from the piece it got until nothing of that piece is left.
template <typename Loop, typename Body, typename BodyPolicy>
class loop_runner {
 public:
  using task = loop_task<Loop, Body, BodyPolicy>;
  using piece_type = typename Loop::piece;

  // `origin` is the task that the runner executes; nullptr in the thread that called the algorithm.
  loop_runner(thread_data& thread, loop_call<Loop>& call, task* origin, Body& body)
      : thread_(thread), call_(call), newest_(origin), body_(body) {}
  loop_runner(const loop_runner&) = delete;
  loop_runner& operator=(const loop_runner&) = delete;

  // Owns a task that is in no deque; frees it at the end of the scope.
  class owned_task {
   public:
    owned_task(thread_data& thread, task* t) : thread_(thread), task_(t) {}
    owned_task(owned_task&& other) : thread_(other.thread_), task_(other.task_) {
      other.task_ = nullptr;
    }
    ~owned_task() {
      if (task_ != nullptr) task::destroy(thread_, task_);
    }
    explicit operator bool() const { return task_ != nullptr; }
    task* operator->() const { return task_; }
    task& operator*() const { return *task_; }
    task& release() {
      task& t = *task_;
      task_ = nullptr;
      return t;
    }

   private:
    thread_data& thread_;
    task* task_;
  };

  // ---- called by the Loop

  thread_data& thread() const { return thread_; }
  // Whether this is the runner of the thread that called the algorithm, and it has exposed nothing.
  bool is_first() const { return newest_ == nullptr; }
  context_node& group() const { return call_.group; }
  Body& body() const { return body_; }
  // Asked in front of each chunk.
  bool is_cancelled() const { return is_cancelled_between_chunks(thread_, call_.group); }

  // Makes the piece available to thieves. It must lie to the right of everything the runner still
  // has, except what it has exposed before. Strong guarantee; throws bad_alloc and what moving the
  // piece throws.
  task& expose(piece_type&& piece, std::size_t limit) {
    owned_task t(thread_, new (thread_) task(call_, newest_, body_, std::move(piece), limit));
    trace_chunk(thread_);
    spawn(thread_, *t);
    ++exposed_;
    newest_ = &t.release();
    return *newest_;
  }

  // Gives the piece away for good: to the thread in `slot`, if there is one. The runner must not
  // have exposed a piece. Strong guarantee; throws bad_alloc and what moving the piece throws.
  void send(piece_type&& piece, unsigned slot, unsigned own_slot) {
    owned_task t(thread_, new (thread_) task(call_, newest_, body_, std::move(piece), 0));
    if (slot == own_slot) {
      spawn(thread_, *t);
    } else {
      mail_task(thread_, *t, slot);
    }
    newest_ = &t.release();
  }

  // Whether a piece is exposed and not stolen.
  bool has_exposed() {
    if (exposed_ == 0) return false;
    // relaxed: a hint that there is something to expose; no data depends on it
    if (CORBEL_LIKELY(newest_->limit.load(std::memory_order_relaxed) != 0)) return true;
    forget_exposed();
    return false;
  }

  // Called when the newest exposed piece has been stolen. Thieves take the oldest first, so all
  // exposed pieces are gone.
  void forget_exposed() {
    exposed_ = 0;
    thread_.tasks->see_thefts();
  }

  // Returns the newest exposed piece if it is not stolen. It follows the pieces that the runner has
  // done.
  owned_task take_back() {
    while (has_exposed()) {
      task_base* const popped = thread_.tasks->pop();
      if (CORBEL_LIKELY(popped == newest_)) {
        task* const t = newest_;
        newest_ = t->parent;
        --exposed_;
        trace_no_push(thread_, *t);
        return owned_task(thread_, t);
      }
      if (popped == nullptr) {
        forget_exposed();
        break;
      }
      // A body spawned this task and did not wait for it.
      run_any(thread_, popped);
    }
    return owned_task(thread_, nullptr);
  }

  // ---- called by the engine

  // Ends the runner's side of its tasks, newest first, and joins those whose other side has ended.
  // Returns whether the whole loop has ended. Pieces that a cancelled run has left exposed count as
  // stolen: the thread that executes them ends their other side.
  bool end() {
    task* t = newest_;
    while (t != nullptr) {
      trace_end_of_chunks(thread_, &call_.done);
      // (1) acq_rel: release publishes what this side did; acquire shows the side that ends last
      // what the other one did before its own (1)
      if (t->sides.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
      // A cancelled loop is joined too: a body that cancels its own loop because it has found
      // something, as libstdc++'s do, needs the result to be passed on. A loop that has thrown is
      // not joined.
      if (t->has_body && !call_.group.has_failed()) {
        call_captured(call_.group,
                      [t] { BodyPolicy::template join<Body>(*t->left, t->body.get()); });
      }
      task* const up = t->parent;
      task::destroy(thread_, t);
      t = up;
    }
    return true;
  }

 private:
  thread_data& thread_;
  loop_call<Loop>& call_;
  task* newest_;  // the newest task of which the runner is a side; the others are its parents
  unsigned exposed_ = 0;  // how many tasks, from newest_ on, may still be in the deque
  Body& body_;
};

template <typename Loop, typename Body, typename BodyPolicy>
task_base* loop_task<Loop, Body, BodyPolicy>::execute(task_base* self, thread_data& thread,
                                                      bool cancelled) {
  loop_task& t = *static_cast<loop_task*>(self);
  loop_call<Loop>& call = *t.call;
  // relaxed: the exposing runner reads nothing else because of it
  t.limit.store(0, std::memory_order_relaxed);
  const chunk_trace trace(thread);
  loop_runner<Loop, Body, BodyPolicy> runner(thread, call, &t, t.body.get());
  if (!cancelled) {
    call_captured(call.group, [&] {
      BodyPolicy::make(t.body, *t.left);
      t.has_body = true;
      call.loop.run(runner, t.piece);
    });
  }
  if (runner.end()) set_flag(thread, call.done);
  return nullptr;
}

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
  // No object with a destructor: nothing here throws, and the compiler keeps more in registers.
  chunk_frame chunks;
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) begin_traced_loop(thread, chunks);
  loop_runner<loop_type, Body, BodyPolicy> runner(thread, call, nullptr, body);
  call_captured(group, [&] {
    typename loop_type::piece piece(loop.whole());
    loop.run(runner, piece);
  });
  if (CORBEL_UNLIKELY(!runner.end())) wait_for_flag(thread, call.done);
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) end_traced_loop(thread, chunks, &call.done);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_LOOP_HPP
