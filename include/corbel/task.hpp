// SPDX-License-Identifier: Apache-2.0
// Tasks with a virtual function and a reference count: the task API of TBB up to 2020, and what
// oneTBB's task has. C++11 upwards.
//
// A task is allocated with new and one of the allocate functions, given a reference count when it
// has children, and spawned. When its execute() returns it is destroyed, unless it recycled itself,
// and its parent has one reference less. A parent that has none left runs: it is a continuation of
// its children. A parent that waits for its children holds one more reference itself.
//
//   tbb::task* Fibonacci::execute() {
//     if (n_ < 2) { *sum_ = n_; return nullptr; }
//     long x, y;
//     set_ref_count(3);  // two children, and the wait
//     spawn(*new (allocate_child()) Fibonacci(n_ - 1, &x));
//     spawn_and_wait_for_all(*new (allocate_child()) Fibonacci(n_ - 2, &y));
//     *sum_ = x + y;
//     return nullptr;
//   }
//
// Every task belongs to a group (task_group_context): that of its parent; a root's is the one
// given, else that of the task that is running, else one that the thread keeps for all its roots.
// Tasks of a cancelled group are destroyed and counted, but not executed. What execute() throws
// cancels the group and is thrown again by every wait for a task of the group; the thread's own
// group is as new when its outermost wait ends, others are with task_group_context::reset().
//
// A task class may be as large as it likes but not aligned to more than 32 bytes, and `task` must
// be its first base with virtual functions. Two threads must not use one task at a time, but for
// its reference count, its cancellation, and spawning or enqueuing what another one allocated.
#ifndef CORBEL_TASK_HPP
#define CORBEL_TASK_HPP

#include <cstddef>
#include <cstdint>

#include <corbel/detail/classic_proxies.hpp>
#include <corbel/detail/classic_record.hpp>
#include <corbel/detail/suspend.hpp>
#include <corbel/detail/tbb_task.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

class task_list;

class task {
 public:
  // 1 + the number of a place in the arena; 0: any.
  using affinity_id = unsigned short;

  // What a task is about to do: it runs; runs again when execute() has returned; lies in a queue;
  // has been allocated, or recycled as a continuation or child; is gone; becomes a continuation
  // when execute() has returned, to be spawned or to be enqueued.
  enum state_type {
    executing = detail::classic_record::kExecuting,
    reexecute = detail::classic_record::kReexecute,
    ready = detail::classic_record::kReady,
    allocated = detail::classic_record::kAllocated,
    freed = detail::classic_record::kFreed,
    recycle = detail::classic_record::kRecycle,
    to_enqueue = detail::classic_record::kRecycleToEnqueue
  };

  virtual ~task() {}

  // What the task does. May return a task to be run next by this thread, which must not have been
  // spawned; that may be this one, recycled as a child.
  virtual task* execute() = 0;

  // Called in the thread that is about to run the task when it came from another one and its
  // affinity is not that thread's `id`. Must not throw.
  virtual void note_affinity(affinity_id id) { static_cast<void>(id); }

  // ---- allocation: new (…) T(arguments). Throws bad_alloc, or what the constructor throws, and
  // has done nothing then.

  // A task without a parent.
  static detail::allocate_root_proxy allocate_root() { return {}; }
  static detail::allocate_root_in_proxy allocate_root(task_group_context& group) { return {group}; }

  // A task that takes this one's place: it gets its parent. This one has none any more.
  detail::allocate_continuation_proxy allocate_continuation() { return {record()}; }

  // A child of this task, whose reference count must have been set, or be set, to include it.
  detail::allocate_child_proxy allocate_child() { return {record()}; }

  // A child of `parent`, whose reference count becomes larger by one. From any thread, as long as
  // the parent has a reference already.
  static detail::allocate_additional_child_proxy allocate_additional_child_of(task& parent) {
    return {parent.record()};
  }

  // Destroys a task that was allocated and not spawned, and has no children. Its parent has a
  // reference less, but does not run.
  static void destroy(task& victim) {
    detail::worker& w = detail::current_worker();
    detail::classic_record& r = victim.record();
    detail::classic_record* const parent = r.parent;
    victim.~task();
    detail::deallocate_record(w, &r);
    if (parent != nullptr) parent->remove_references(w, 1);
  }

  // ---- recycling: the task is not destroyed when the current call of its execute() returns.

  // As a continuation of the children that it has allocated and counted. One of them must not run
  // before execute() returns: that is, it is returned from there.
  void recycle_as_continuation() { recycle_as(Position::kKept); }

  // As a continuation of children that may run at once. The reference count must be larger by one
  // than the number of children.
  void recycle_as_safe_continuation() { recycle_as(Position::kContinuesSafely); }

  // The same, but when its children have ended the task is enqueued, as by enqueue(); without
  // memory for that it runs at once.
  void recycle_to_enqueue() {
    record().bits |= detail::classic_record::kToEnqueue;
    recycle_as(Position::kContinuesSafely);
  }

  // As a child of `new_parent`, to be returned from execute() or spawned. It must not have children
  // nor, at that time, a parent: a continuation has got it.
  void recycle_as_child_of(task& new_parent) {
    detail::classic_record& r = record();
    r.parent = &new_parent.record();
    if (CORBEL_UNLIKELY(r.context != r.parent->context)) r.take_group_of(*r.parent);
    recycle_as(Position::kKept);
  }

  // To be run again, when execute() has returned, as if spawned. There must be no children.
  void recycle_to_reexecute() { recycle_as(Position::kReexecutes); }

  // ---- reference count

  // Before the children that it counts are spawned.
  // relaxed: spawning them publishes it
  void set_ref_count(int count) {
    record().count.store(std::uint32_t(count), std::memory_order_relaxed);
  }

  // Of several children that end at about the same time, some may still be counted; the task itself
  // waits no longer for that.
  int ref_count() const { return int(record().references()); }

  void increment_ref_count() { record().add_references(1); }

  // By a number that may be negative. Returns what there is then. The task does not run even if
  // that is nothing.
  int add_ref_count(int count) {
    if (count < 0) {
      return int(record().remove_references(detail::current_worker(), std::uint32_t(-count)));
    }
    return int(record().add_references(std::uint32_t(count)));
  }

  // Returns what is left. The task does not run even if that is nothing.
  int decrement_ref_count() { return int(record().remove_references(detail::current_worker(), 1)); }

  // ---- spawning and waiting. The waits throw what the group of the task has thrown, when all
  // children have ended, and set the reference count to 0; with task_group_context::concurrent_wait
  // they leave it at 1, so that several threads may wait.

  // Lets the task run some time, in this thread or another. Throws bad_alloc, and has done nothing
  // then.
  static void spawn(task& t) { spawn_one(detail::current_worker(), t.record()); }

  // Every task of the list, which is empty then. The first ones are the first to run here, the last
  // ones the first to be stolen.
  inline static void spawn(task_list& list);

  // Runs a root, which must not have been spawned, and waits for it and all that comes of it.
  inline static void spawn_root_and_wait(task& root);

  // The same for every task of the list, which is empty then.
  inline static void spawn_root_and_wait(task_list& roots);

  // Runs `child`, and returns when one reference is left: the wait's, which must be counted.
  void spawn_and_wait_for_all(task& child) {
    detail::wait_classic(detail::current_worker(), record(), &child.record());
  }

  // The same for every task of the list, which is empty then.
  inline void spawn_and_wait_for_all(task_list& children);

  // Returns when one reference is left.
  void wait_for_all() { detail::wait_classic(detail::current_worker(), record(), nullptr); }

  // Lets the task run some time, in the order of calls, even if nobody waits: a thread of the
  // library comes for it. A root without a group of its own gets the thread's, which lasts, and
  // whose next wait throws what the task throws.
  static void enqueue(task& t) { detail::enqueue_classic(detail::current_worker(), t.record()); }
  static void enqueue(task& t, priority_t) { enqueue(t); }

  // The same in `arena`, a task_arena.
  template <typename Arena>
  static auto enqueue(task& t, Arena& arena, priority_t = priority_normal)
      -> decltype(static_cast<void>(handle_of(arena))) {
    detail::enqueue_classic(detail::current_worker(), t.record(), &handle_of(arena));
  }

  // ---- where it stands

  // The task that the calling thread runs. Outside of tasks of this kind, one that stands for what
  // runs there, the body of a loop or the thread itself: it may have children, and be cancelled.
  static task& self() { return detail::current_classic(detail::current_worker()); }

  // nullptr: none, or it is waited for as a root.
  task* parent() const {
    detail::classic_record* const p = record().parent;
    return p == nullptr || p->state() == detail::classic_record::kAnchor ? nullptr : &p->object();
  }

  // Whose child the task shall be; not yet spawned. The count of neither parent changes.
  void set_parent(task* parent) {
    record().parent = parent == nullptr ? nullptr : &parent->record();
  }

  // Whether another thread than the one that spawned it runs it. Recycled, it stays marked.
  bool is_stolen_task() const { return (record().bits & detail::classic_record::kStolen) != 0; }

  // A task that another thread runs may still be called ready.
  state_type state() const { return state_type(detail::state_of_classic(record())); }

  // ---- group

  task_group_context* group() { return detail::context_access::context(*record().context); }
  task_group_context* context() { return group(); }

  // Moves the task into another group. Not while it has children.
  void change_group(task_group_context& group) {
    detail::classic_record& r = record();
    detail::worker& w = detail::current_worker();
    r.set_group(detail::context_access::node(group), detail::marks_of(group));
    if (w.classic.running == &r) w.context = r.context;
  }

  bool is_cancelled() const { return detail::find_cancelled(*record().context); }

  // False if it was cancelled already.
  bool cancel_group_execution() { return detail::cancel(*record().context); }

  void set_group_priority(priority_t) {}
  priority_t group_priority() const { return priority_normal; }

  // The context of the innermost task of any kind that the calling thread runs; nullptr outside of
  // tasks. In an algorithm that was called without a context only its cancellation functions may be
  // used.
  static task_group_context* current_context() noexcept { return detail::current_group_context(); }

  // ---- affinity

  // Prefers the thread in that place of the arena, if there is one, from the next spawn on.
  void set_affinity(affinity_id id) {
    std::uint32_t& bits = record().bits;
    bits = (bits & 0xffffU) | std::uint32_t(id) << detail::classic_record::kAffinityShift;
  }
  affinity_id affinity() const { return record().affinity(); }

  // ---- suspending: see detail/suspend.hpp

  using suspend_point = detail::suspend_point;

  // Suspends the task, of whatever kind, that runs here: calls f(point) and returns when somebody
  // has called resume(point). The thread does something else meanwhile. Throws bad_alloc, and has
  // not called f then; and what f throws, if resume(point) is not called.
  template <typename F>
  static void suspend(F f) {
    detail::suspend_with(f);
  }

  // From any thread, once for every suspend.
  static void resume(suspend_point point) { detail::resume(point); }

 protected:
  task() {}

 private:
  using Position = detail::classic_position;
  friend class task_list;
  friend struct detail::classic_record;

  detail::classic_record& record() { return detail::classic_record::of(*this); }
  const detail::classic_record& record() const { return detail::classic_record::of(*this); }

  static void recycle_as(Position::after_type after) {
    detail::current_worker().classic.after = after;
  }

  static void spawn_one(detail::worker& w, detail::classic_record& r) {
    r.set_state(detail::classic_record::kReady);
    if (CORBEL_UNLIKELY(r.affinity() != 0)) return detail::spawn_with_affinity(w, r);
    detail::spawn(w, r);
  }
};

// Does nothing.
class empty_task : public task {
 public:
  task* execute() override { return nullptr; }
};

// Tasks to be spawned together. Only one thread at a time.
class task_list {
 public:
  task_list() = default;
  task_list(const task_list&) = delete;
  task_list& operator=(const task_list&) = delete;

  bool empty() const { return first_ == nullptr; }

  // The task must not be in a list.
  void push_back(task& t) {
    detail::classic_record& r = t.record();
    r.set_next_in_list(nullptr);
    if (last_ != nullptr) {
      last_->set_next_in_list(&r);
    } else {
      first_ = &r;
    }
    last_ = &r;
  }

  void push_front(task& t) {
    detail::classic_record& r = t.record();
    r.set_next_in_list(first_);
    if (first_ == nullptr) last_ = &r;
    first_ = &r;
  }

  // The list must not be empty.
  task& pop_front() { return pop()->object(); }

  // Forgets the tasks, without destroying them: they can be spawned, destroyed or put into a list.
  void clear() {
    while (!empty()) pop();
  }

 private:
  friend class task;

  detail::classic_record* pop() {
    detail::classic_record* const r = first_;
    first_ = r->next_in_list();
    if (first_ == nullptr) last_ = nullptr;
    r->run = &detail::run_classic;
    return r;
  }

  // The last one first.
  void reverse() {
    detail::classic_record* turned = nullptr;
    last_ = first_;
    while (first_ != nullptr) {
      detail::classic_record* const next = first_->next_in_list();
      first_->set_next_in_list(turned);
      turned = first_;
      first_ = next;
    }
    first_ = turned;
  }

  detail::classic_record* first_ = nullptr;
  detail::classic_record* last_ = nullptr;
};

inline void task::spawn(task_list& list) {
  detail::worker& w = detail::current_worker();
  list.reverse();
  while (!list.empty()) spawn_one(w, *list.pop());
}

inline void task::spawn_root_and_wait(task& root) {
  detail::classic_anchor anchor(root.record());
  root.record().parent = &anchor;
  detail::wait_classic(detail::current_worker(), anchor, &root.record());
}

inline void task::spawn_root_and_wait(task_list& roots) {
  if (roots.empty()) return;
  detail::classic_record* const first = roots.pop();
  detail::classic_anchor anchor(*first);
  first->parent = &anchor;
  for (detail::classic_record* r = roots.first_; r != nullptr; r = r->next_in_list()) {
    r->parent = &anchor;
    anchor.count.fetch_add(1, std::memory_order_relaxed);  // relaxed: none has been spawned yet
  }
  spawn(roots);
  detail::wait_classic(detail::current_worker(), anchor, first);
}

inline void task::spawn_and_wait_for_all(task_list& children) {
  if (children.empty()) return wait_for_all();
  task& first = children.pop_front();
  spawn(children);
  spawn_and_wait_for_all(first);
}

namespace detail {

inline task& classic_record::object() { return *reinterpret_cast<task*>(this + 1); }
inline classic_record& classic_record::of(task& t) {
  return *(reinterpret_cast<classic_record*>(&t) - 1);
}
inline const classic_record& classic_record::of(const task& t) {
  return *(reinterpret_cast<const classic_record*>(&t) - 1);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_TASK_HPP
