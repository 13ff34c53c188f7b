// SPDX-License-Identifier: Apache-2.0
// Tasks with a virtual function and a reference count: the task API of TBB up to 2020, and suspend
// and resume of oneTBB's task. C++11 and later. Follows TBB 2020 and the oneTBB specification 1.4.
//
// A task is allocated with `new` and one of the allocate functions, given a reference count if it
// has children, and spawned. When its execute() returns, the task is destroyed, unless it recycled
// itself, and its parent loses a reference. A parent that loses its last reference runs: it is a
// continuation of its children. A parent that waits for its children holds one more reference
// itself.
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
// Every task belongs to a group (task_group_context). A child belongs to its parent's group. A root
// belongs to the group given to allocate_root; else to that of the running task; else to one that
// the thread keeps for all its roots. Tasks of a cancelled group are destroyed and counted, but not
// executed. An exception of execute() cancels the group, and every wait for a task of the group
// throws it. The thread's own group is reset when its outermost wait ends; the program resets other
// groups with task_group_context::reset().
//
// A task class may have any size, an alignment of at most 32 bytes, and must have `task` as its
// first base with virtual functions. Two threads must not use one task at the same time, except for
// its reference count and its cancellation. A thread may spawn or enqueue a task that another
// allocated.
#ifndef CORBEL_CLASSIC_TASK_HPP
#define CORBEL_CLASSIC_TASK_HPP

#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/classic/detail/proxies.hpp>
#include <corbel/classic/detail/record.hpp>
#include <corbel/detail/suspend.hpp>
#include <corbel/detail/tbb_task.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

class task_list;

class task {
 public:
  // 1 + the index of a slot of the arena; 0: none.
  using affinity_id = unsigned short;

  enum state_type {
    executing = detail::classic_record::kExecuting,         // runs
    reexecute = detail::classic_record::kReexecute,         // runs again when execute() returns
    ready = detail::classic_record::kReady,                 // is in a deque or queue
    allocated = detail::classic_record::kAllocated,         // is allocated, or recycled
    freed = detail::classic_record::kFreed,                 // has been destroyed
    recycle = detail::classic_record::kRecycle,             // recycled as a safe continuation
    to_enqueue = detail::classic_record::kRecycleToEnqueue  // recycled to be enqueued
  };

  virtual ~task() {}

  // The work of the task. May return a task that this thread runs next; it must not have been
  // spawned, and may be this one, recycled as a child. An exception cancels the group.
  virtual task* execute() = 0;

  // Called by the thread that is about to run the task, if the task came from another thread and
  // its affinity is not the thread's `id`. Must not throw.
  virtual void note_affinity(affinity_id id) { static_cast<void>(id); }

  // ---- allocation: new (…) T(arguments). Throws bad_alloc, or what the constructor throws, and
  // has done nothing then.

  // For a task without a parent, in `group` if given.
  static detail::allocate_root_proxy allocate_root() { return {}; }
  static detail::allocate_root_in_proxy allocate_root(task_group_context& group) { return {group}; }

  // For a continuation of this task: the continuation takes over this task's parent, and this task
  // has no parent afterwards.
  detail::allocate_continuation_proxy allocate_continuation() { return {record()}; }

  // For a child of this task. The program sets this task's reference count to include it.
  detail::allocate_child_proxy allocate_child() { return {record()}; }

  // For a child of `parent`; adds a reference to `parent`, which must have one already. Any thread
  // may call it.
  static detail::allocate_additional_child_proxy allocate_additional_child_of(task& parent) {
    return {parent.record()};
  }

  // Destroys a task that was allocated but not spawned, and that has no children. Its parent loses
  // a reference, but does not run.
  static void destroy(task& victim) {
    detail::thread_data& thread = detail::current_thread();
    detail::classic_record& r = victim.record();
    detail::classic_record* const parent = r.parent;
    victim.~task();
    detail::deallocate_record(thread, &r);
    if (parent != nullptr) parent->remove_references(thread, 1);
  }

  // ---- recycling: called in execute(); the task is not destroyed when that returns.

  // Makes the task a continuation of its children, which it has allocated and counted. One of them
  // must not run before execute() returns, usually because execute() returns it.
  void recycle_as_continuation() { recycle_as(Position::kKept); }

  // Makes the task a continuation of children that may run at once. The reference count must be the
  // number of children plus one.
  void recycle_as_safe_continuation() { recycle_as(Position::kContinuesSafely); }

  // Like recycle_as_safe_continuation, but when its children have ended the task is enqueued, as by
  // enqueue(), instead of run. If there is no memory for that, the task runs at once.
  void recycle_to_enqueue() {
    record().bits |= detail::classic_record::kToEnqueue;
    recycle_as(Position::kContinuesSafely);
  }

  // Makes the task a child of `new_parent`, to be returned from execute() or spawned. It must have
  // no children and no parent: allocate_continuation has passed the parent on.
  void recycle_as_child_of(task& new_parent) {
    detail::classic_record& r = record();
    r.parent = &new_parent.record();
    if (CORBEL_UNLIKELY(r.context != r.parent->context)) r.take_group_of(*r.parent);
    recycle_as(Position::kKept);
  }

  // Runs the task again when execute() has returned, as if spawned. It must have no children.
  void recycle_to_reexecute() { recycle_as(Position::kReexecutes); }

  // ---- reference count. Any thread may call these at any time, except set_ref_count.

  // Sets the count, before the children that it counts are spawned.
  void set_ref_count(int count) {
    // relaxed: spawning the children publishes it
    record().count.store(std::uint32_t(count), std::memory_order_relaxed);
  }

  // Returns the count. It may still include children that have just ended; a wait for them still
  // ends.
  int ref_count() const { return int(record().references()); }

  // Adds a reference; there must be one already.
  void increment_ref_count() { record().add_references(1); }

  // Adds `count`, which may be negative, and returns the new count. The task does not run even if
  // that is 0.
  int add_ref_count(int count) {
    if (count < 0) {
      return int(record().remove_references(detail::current_thread(), std::uint32_t(-count)));
    }
    return int(record().add_references(std::uint32_t(count)));
  }

  // Removes a reference and returns the new count. The task does not run even if that is 0.
  int decrement_ref_count() { return int(record().remove_references(detail::current_thread(), 1)); }

  // ---- spawning and waiting. When all children have ended, a wait throws the exception of the
  // task's group, if there is one. It sets the reference count to 0; with
  // task_group_context::concurrent_wait it leaves the count at 1, so that several threads may wait.

  // Makes the task available to this thread and others. Throws bad_alloc, and has done nothing
  // then.
  static void spawn(task& t) { spawn_one(detail::current_thread(), t.record()); }

  // Spawns every task of the list, which is empty afterwards. This thread runs the first ones
  // first; other threads steal the last ones first. Throws bad_alloc; the tasks that have not been
  // spawned are left in the list then.
  inline static void spawn(task_list& list);

  // Runs a root, which must not have been spawned, and waits for it and its descendants.
  inline static void spawn_root_and_wait(task& root);

  // Runs the roots of the list, none of which must have been spawned, and waits for all of them and
  // their descendants. The list is empty afterwards.
  inline static void spawn_root_and_wait(task_list& roots);

  // Runs `child`, and returns when one reference is left: the wait's own, which the program counts.
  void spawn_and_wait_for_all(task& child) {
    detail::wait_classic(detail::current_thread(), record(), &child.record());
  }

  // Runs the children of the list, which is empty afterwards, and returns when one reference is
  // left, as above.
  inline void spawn_and_wait_for_all(task_list& children);

  // Runs tasks, and returns when one reference is left.
  void wait_for_all() { detail::wait_classic(detail::current_thread(), record(), nullptr); }

  // Enqueues the task. Enqueued tasks begin in the order of the calls, even if no thread waits: a
  // worker runs them. A root that would take the group of a running algorithm gets the thread's own
  // group instead, which lives long enough; the next wait of that group throws the task's
  // exception. That of a worker, or of a thread that has ended, is lost. Throws bad_alloc, and has
  // not enqueued the task then.
  static void enqueue(task& t) { detail::enqueue_classic(detail::current_thread(), t.record()); }
  static void enqueue(task& t, priority_t) { enqueue(t); }

  // Enqueues the task in `arena`, a task_arena, as the function above does.
  template <typename Arena>
  static auto enqueue(task& t, Arena& arena, priority_t = priority_normal)
      -> decltype(static_cast<void>(handle_of(arena))) {
    detail::enqueue_classic(detail::current_thread(), t.record(), &handle_of(arena));
  }

  // ---- relations and state

  // Returns the task that the calling thread runs. Outside of classic tasks, returns one that
  // represents the body of a loop or the thread itself; it may have children and be cancelled. That
  // of a thread has a reference for a wait.
  static task& self() { return detail::current_classic(detail::current_thread()); }

  // Returns the parent; nullptr if there is none. The parent of a root that is waited for is an
  // empty task, which the wait makes and for which it waits: the root may pass it on with
  // set_parent, or add children to it.
  task* parent() const {
    detail::classic_record* const p = record().parent;
    return p == nullptr ? nullptr : &p->object();
  }

  // Makes `parent` the parent of this task, which must not have been spawned. Changes no reference
  // count.
  void set_parent(task* parent) {
    record().parent = parent == nullptr ? nullptr : &parent->record();
  }

  // Returns whether the task runs in another thread than the one that spawned it. Stays true if the
  // task is recycled.
  bool is_stolen_task() const { return (record().bits & detail::classic_record::kStolen) != 0; }

  // Returns the state. A task that another thread runs may still be reported as ready.
  state_type state() const { return state_type(detail::state_of_classic(record())); }

  // ---- group

  // Return the task's group.
  task_group_context* group() { return detail::context_access::context(*record().context); }
  task_group_context* context() { return group(); }

  // Moves the task into `group`. The task must have no children.
  void change_group(task_group_context& group) {
    detail::classic_record& r = record();
    detail::thread_data& thread = detail::current_thread();
    r.set_group(detail::context_access::node(group), detail::flags_of(group));
    if (thread.classic.running == &r) thread.context = r.context;
  }

  // Returns whether the task's group is cancelled. Any thread may call it.
  bool is_cancelled() const { return detail::find_cancelled(*record().context); }

  // Cancels the task's group. Returns false if it was cancelled already. Any thread may call it.
  bool cancel_group_execution() { return detail::cancel(*record().context); }

  // Ignored.
  void set_group_priority(priority_t) {}
  priority_t group_priority() const { return priority_normal; }

  // Returns the context of the innermost task of any kind that the calling thread runs; nullptr
  // outside of tasks. In an algorithm that was called without a context, only the context's
  // cancellation functions may be used.
  static task_group_context* current_context() noexcept { return detail::current_group_context(); }

  // ---- affinity

  // From the next spawn on, prefers the thread in the slot `id` of the arena, if there is one.
  void set_affinity(affinity_id id) {
    std::uint32_t& bits = record().bits;
    bits = (bits & 0xffffU) | std::uint32_t(id) << detail::classic_record::kAffinityShift;
  }
  // Returns the affinity set before, or 0.
  affinity_id affinity() const { return record().affinity(); }

  // ---- suspending: see detail/suspend.hpp

  using suspend_point = detail::suspend_point;

  // Suspends the task, of any kind, that the calling thread runs: calls f(point), and returns once
  // resume(point) has been called. The thread runs other tasks meanwhile. Throws bad_alloc, and has
  // not called `f` then. Throws what `f` throws; resume(point) must not be called then.
  template <typename F>
  static void suspend(F f) {
    detail::suspend_with(f);
  }

  // Resumes a suspended task. Any thread may call it, exactly once for each suspend.
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
    detail::current_thread().classic.after = after;
  }

  // Spawns every task of the list, for a wait that follows: the tasks for which there is no memory
  // run at once. Not reported, because the wait must not be left while other tasks of the list run.
  inline static void spawn_or_run(task_list& list);

  static void spawn_one(detail::thread_data& thread, detail::classic_record& r) {
    r.set_state(detail::classic_record::kReady);
    if (CORBEL_UNLIKELY(r.affinity() != 0)) return detail::spawn_with_affinity(thread, r);
    detail::spawn(thread, r);
  }
};

// A task that does nothing, for waiting and as a continuation.
class empty_task : public task {
 public:
  task* execute() override { return nullptr; }
};

// A list of tasks to be spawned together. One thread at a time may use it. Does not own the tasks.
class task_list {
 public:
  task_list() = default;
  task_list(const task_list&) = delete;
  task_list& operator=(const task_list&) = delete;

  bool empty() const { return first_ == nullptr; }

  // Add a task at the end or the beginning. The task must not be in a list.
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

  // Removes and returns the first task. The list must not be empty.
  task& pop_front() { return pop()->object(); }

  // Removes all tasks, without destroying them: they can be spawned, destroyed or put into a list.
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

  // Reverses the order of the list.
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
  struct rest {
    task_list& list;
    detail::classic_record* current;
    ~rest() {
      if (CORBEL_LIKELY(current == nullptr)) return;
      current->set_state(detail::classic_record::kAllocated);
      list.push_front(current->object());
      list.reverse();
    }
  } left{list, nullptr};
  detail::thread_data& thread = detail::current_thread();
  list.reverse();
  while (!list.empty()) {
    left.current = list.pop();
    spawn_one(thread, *left.current);
  }
  left.current = nullptr;
}

inline void task::spawn_or_run(task_list& list) {
#if CORBEL_EXCEPTIONS
  detail::thread_data& thread = detail::current_thread();
  list.reverse();
  while (!list.empty()) {
    detail::classic_record* const r = list.pop();
    try {
      spawn_one(thread, *r);
    } catch (const std::bad_alloc&) {
      detail::run_any(thread, r);
    }
  }
#else
  spawn(list);
#endif
}

namespace detail {

// The parent of roots that are waited for. Initially it has the references of the wait and of the
// first root.
struct classic_anchor {
  classic_record record;
  empty_task object;

  explicit classic_anchor(const classic_record& root) {
    static_assert(sizeof(classic_anchor) == sizeof(record) + sizeof(object),
                  "a task follows its record");
    record.run = &run_classic;
    record.context = root.context;
    record.count.store(2,
                       std::memory_order_relaxed);  // relaxed: no other thread has the anchor yet
    constexpr std::uint32_t kOfGroup =
        classic_record::kOwn | classic_record::kExplicit | classic_record::kBorrowed;
    record.bits = classic_record::kAllocated | (root.bits & kOfGroup);
    record.parent = nullptr;
  }
};

}  // namespace detail

inline void task::spawn_root_and_wait(task& root) {
  detail::classic_anchor anchor(root.record());
  root.record().parent = &anchor.record;
  detail::wait_classic(detail::current_thread(), anchor.record, &root.record());
}

inline void task::spawn_root_and_wait(task_list& roots) {
  if (roots.empty()) return;
  detail::classic_record* const first = roots.pop();
  detail::classic_anchor anchor(*first);
  first->parent = &anchor.record;
  for (detail::classic_record* r = roots.first_; r != nullptr; r = r->next_in_list()) {
    r->parent = &anchor.record;
    anchor.record.add_references(1);
  }
  spawn_or_run(roots);
  detail::wait_classic(detail::current_thread(), anchor.record, first);
}

inline void task::spawn_and_wait_for_all(task_list& children) {
  if (children.empty()) return wait_for_all();
  task& first = children.pop_front();
  spawn_or_run(children);
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

#endif  // CORBEL_CLASSIC_TASK_HPP
