// SPDX-License-Identifier: Apache-2.0
// The engine of parallel loops and reductions: how a loop's pieces are given away, stolen and
// joined. What a piece is and how it is cut is the business of a space (chunk_loop.hpp,
// range_loop.hpp).
//
// A thread works on a loop in a strand. It keeps the left part of its piece for itself and exposes
// the right part as a task. Between two calls of the body it looks whether that task has been
// stolen, and only then exposes part of what it still has (lazy splitting on demand; after
// A. Tzannes, G. Caragea, R. Barua and U. Vishkin, "Lazy Binary-Splitting", PPoPP 2010, with one
// exposed piece in place of the look at the deque). When its own part is done it takes the exposed
// one back and goes on. So a loop that nobody steals from costs a push and a pop for each halving,
// not for each call of the body.
//
// Joins. A strand and a task stolen from it are the two sides of that task: whoever of the two
// ends last joins them, frees the task, and has then ended one side of the task's parent. The
// parent is the last task that was stolen from the strand before, or else the one that the strand
// itself runs; so pieces are joined in the order of the range, and nobody waits but the caller.
#ifndef CORBEL_DETAIL_LOOP_HPP
#define CORBEL_DETAIL_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <corbel/detail/arena_place.hpp>
#include <corbel/detail/flag.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/late.hpp>
#include <corbel/detail/new_task.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// A task that the thread in that place should run, if there is one. Throws bad_alloc, and has done
// nothing then.
CORBEL_EXPORT void mail_task(worker& w, task_base& t, unsigned slot);

// How a thief gets a body: a copy, and nothing to join,
struct copied_bodies {
  template <typename Place, typename Body>
  static void branch(Place& place, Body& left) {
    place.make(left);
  }
  template <typename Body>
  static void join(Body&, Body&) {}
};

// or one that is split off and joined to the one on its left.
struct split_bodies {
  template <typename Place, typename Body>
  static void branch(Place& place, Body& left) {
    place.make(left, split());
  }
  template <typename Body>
  static void join(Body& left, Body& right) {
    left.join(right);
  }
};

// One call of an algorithm; in the caller's frame.
template <typename Space>
struct loop {
  context_node& group;
  const Space& space;
  flag done;  // set only if the caller is not the last to end

  loop(context_node& g, const Space& s) : group(g), space(s), done(0) {}
};

// A piece that is exposed, or stolen.
template <typename Space, typename Body, typename Bodies>
struct loop_task : task_base {
  using piece_type = typename Space::piece;

  loop_task* parent;
  loop<Space>* whole;
  Body* left;                        // of the strand that exposed it
  std::atomic<std::uint32_t> sides;  // that have not ended: the strand and the thief
  bool has_body = false;
  // Up to where the owner may go in its own part; the thief sets it to 0. (A space that does not
  // count positions starts it with 1.)
  std::atomic<std::size_t> limit;
  piece_type piece;
  late<typename std::remove_const<Body>::type> body;

  loop_task(loop<Space>& l, loop_task* up, Body& b, piece_type&& p, std::size_t first_limit)
      : task_base(&execute),
        parent(up),
        whole(&l),
        left(&b),
        sides(2),
        limit(first_limit),
        piece(std::move(p)) {
    context = &l.group;
  }
  ~loop_task() {
    if (has_body) body.destroy();
  }

  void make_body() {
    Bodies::branch(body, *left);
    has_body = true;
  }

  static task_base* execute(task_base* self, worker& w, bool cancelled);
};

// The work of one thread on a loop, from a piece that it got until it has nothing left of it.
template <typename Space, typename Body, typename Bodies>
class strand {
 public:
  using task = loop_task<Space, Body, Bodies>;
  using piece_type = typename Space::piece;

  // `origin`: the task that the strand runs; nullptr in the caller.
  strand(worker& w, loop<Space>& l, task* origin) : worker_(w), loop_(l), join_(origin) {}
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;

  // A task that is not in a deque; freed at the end of the scope.
  class owned {
   public:
    owned(worker& w, task* t) : worker_(w), task_(t) {}
    owned(owned&& other) : worker_(other.worker_), task_(other.task_) { other.task_ = nullptr; }
    ~owned() {
      if (task_ != nullptr) delete_task(worker_, task_);
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
    worker& worker_;
    task* task_;
  };

  // ---- for spaces

  worker& thread() const { return worker_; }
  // Whether it is the caller's, and has not begun.
  bool is_first() const { return join_ == nullptr; }
  context_node& group() const { return loop_.group; }
  Body& body() const { return *body_; }
  bool is_cancelled() const { return worker_.is_cancelled(loop_.group); }

  // Gives the piece, which lies to the right of all that the strand has but of what it has exposed
  // before, to whoever comes.
  task& expose(piece_type&& piece, std::size_t limit) {
    owned t = make_task(std::move(piece), limit);
    spawn(worker_, *t);
    ++exposed_;
    join_ = &t.release();
    return *join_;
  }

  // Gives the piece away for good, to the thread in that place if it is there. Nothing must be
  // exposed.
  void send(piece_type&& piece, unsigned slot, unsigned own_slot) {
    owned t = make_task(std::move(piece), 0);
    if (slot == own_slot) {
      spawn(worker_, *t);
    } else {
      mail_task(worker_, *t, slot);
    }
    join_ = &t.release();
  }

  // Whether something is exposed that nobody has taken.
  bool has_exposed() {
    if (exposed_ == 0) return false;
    // relaxed: says only that there is something to do
    if (CORBEL_LIKELY(join_->limit.load(std::memory_order_relaxed) != 0)) return true;
    forget_exposed();
    return false;
  }

  // Thieves begin with the oldest: when the newest is gone all are.
  void forget_exposed() {
    exposed_ = 0;
    worker_.tasks->see_thefts();
  }

  // The piece exposed last, if nobody has taken it: it follows on what the strand has done.
  owned take_back() {
    while (has_exposed()) {
      task_base* const popped = worker_.tasks->pop();
      if (CORBEL_LIKELY(popped == join_)) {
        task* const t = join_;
        join_ = t->parent;
        --exposed_;
        return owned(worker_, t);
      }
      if (popped == nullptr) {
        forget_exposed();
        break;
      }
      // A body spawned it and did not wait.
      run_any(worker_, popped);
    }
    return owned(worker_, nullptr);
  }

  // ---- for the loop

  void run(piece_type& piece, Body& body) {
    body_ = &body;
    loop_.space.run(*this, piece);
  }

  // Ends the strand's side. Whether the whole loop has ended. What a run that ended early has left
  // exposed is then a task like one that was stolen.
  bool end() {
    task* t = join_;
    while (t != nullptr) {
      // acq_rel: what either side did is seen by the one that ends last
      if (t->sides.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
      // What a cancelled loop has found is joined all the same: bodies that cancel their own loop
      // because they have found something (libstdc++'s do) want it.
      if (t->has_body && !loop_.group.has_failed()) {
        call_captured(loop_.group, [t] { Bodies::template join<Body>(*t->left, t->body.get()); });
      }
      task* const up = t->parent;
      delete_task(worker_, t);
      t = up;
    }
    return true;
  }

 private:
  owned make_task(piece_type&& piece, std::size_t limit) {
    return owned(worker_, new_task<task>(worker_, loop_, join_, *body_, std::move(piece), limit));
  }

  worker& worker_;
  loop<Space>& loop_;
  task* join_;            // whose side the strand ends next
  unsigned exposed_ = 0;  // the last so many of the chain from join_ up may be in the deque
  Body* body_ = nullptr;
};

template <typename Space, typename Body, typename Bodies>
task_base* loop_task<Space, Body, Bodies>::execute(task_base* self, worker& w, bool cancelled) {
  loop_task& t = *static_cast<loop_task*>(self);
  loop<Space>& whole = *t.whole;
  // relaxed: the owner reads nothing else because of it
  t.limit.store(0, std::memory_order_relaxed);
  strand<Space, Body, Bodies> s(w, whole, &t);
  if (!cancelled) {
    call_captured(whole.group, [&] {
      t.make_body();
      s.run(t.piece, t.body.get());
    });
  }
  if (s.end()) set_flag(w, whole.done);
  return nullptr;
}

// Calls the body for the whole space; returns when all calls have ended. What they throw is left in
// the group.
template <typename Bodies, typename Space, typename Body>
inline void run_loop(worker& w, context_node& group, const Space& space, Body& body) {
  loop<Space> whole(group, space);
  strand<Space, Body, Bodies> s(w, whole, nullptr);
  call_captured(group, [&] {
    typename Space::piece piece(space.whole());
    s.run(piece, body);
  });
  if (CORBEL_UNLIKELY(!s.end())) wait_for_flag(w, whole.done);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_LOOP_HPP
