// SPDX-License-Identifier: Apache-2.0
// Arenas: sets of slots whose threads work on the same tasks. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_TASK_ARENA_HPP
#define CORBEL_TASK_ARENA_HPP

#include <atomic>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <corbel/detail/arena_call.hpp>
#include <corbel/detail/arena_slot.hpp>
#include <corbel/info.hpp>
#include <corbel/task_group.hpp>

namespace corbel {

// Tag for a task_arena that refers to the calling thread's arena.
struct attach {};

namespace detail {

// An arena, defined in the library.
struct arena_handle;
struct arena_access;

struct arena_settings {
  constraints limits;
  unsigned reserved;
  int priority;
};

// The result of a selector of core types, if Selector is one.
template <typename Selector>
using core_type_score = decltype(static_cast<int>(
    std::declval<Selector&>()(std::declval<std::tuple<core_type_id, std::size_t, std::size_t>>())));

// Returns a new arena, to be released with release_arena. Throws bad_alloc.
CORBEL_EXPORT arena_handle& make_arena(const arena_settings& settings);
// Returns the calling thread's arena, or nullptr if it has none yet. To be released with
// release_arena too.
CORBEL_EXPORT arena_handle* attach_arena() noexcept;
CORBEL_EXPORT void release_arena(arena_handle& arena) noexcept;
CORBEL_EXPORT int arena_width(const arena_handle& arena) noexcept;
// Whether the thread works in this arena now.
CORBEL_EXPORT bool is_in_arena(const thread_data& thread, const arena_handle& arena) noexcept;
// Whether the calling thread is the additional worker in this arena of one thread.
CORBEL_EXPORT bool is_additional_worker(const arena_handle* arena) noexcept;
CORBEL_EXPORT int current_arena_width();
CORBEL_EXPORT int default_arena_width(const constraints& limits);

// Calls function(argument) in the arena and returns when the call has returned. Exceptions of the
// function propagate.
CORBEL_EXPORT void execute_in(arena_handle& arena, void (*function)(void*), void* argument);
CORBEL_EXPORT void enqueue_in(arena_handle& arena, task_base& task);
CORBEL_EXPORT void enqueue_here(task_base& task);

// Takes the task out of the handle. Returns it if it may begin now, else nullptr: then the last
// task it waits for spawns it.
inline group_task* take_ready(task_handle& h) {
  CORBEL_ASSERT(bool(h), "the handle holds no task");
  group_task* const t = handle_access::take(h);
  // relaxed: the owner of the handle stored it
  task_order* const order = t->order.load(std::memory_order_relaxed);
  return order == nullptr || may_begin(*order) ? t : nullptr;
}

}  // namespace detail

// The settings of an arena and, from its first use on, the arena. Any thread may call any member at
// any time, except the constructors, the destructor, initialize and terminate.
class task_arena {
 public:
  // As a value of max_concurrency: the number of threads the process may run at once.
  static constexpr int automatic = -1;
  // As constraints::core_type: a selector chooses among the types of cores.
  static constexpr int selectable = detail::kSelectable;
  // As a result of current_thread_index: the thread is in no arena.
  static constexpr int not_initialized = -2;

  // Workers join arenas of higher priority first.
  enum class priority : int { low = -1, normal = 0, high = 1 };

  // How soon workers leave an arena without work. Accepted and ignored: workers search for about
  // 100 us and are then free for other arenas.
  enum class leave_policy : int { automatic = 0, fast = 1 };

  using constraints = detail::constraints;
  using attach = corbel::attach;

  // At most `max_concurrency` threads work in the arena at a time, external threads included. Of
  // their slots, `reserved_for_masters` are for external threads only. If this leaves no slot for a
  // worker, one worker takes a reserved slot for as long as there are enqueued tasks; it waits
  // while all slots are taken. In an arena of one thread, which is reserved, it does not wait: one
  // additional worker runs them. The arena is made at its first use.
  task_arena(int max_concurrency = automatic, unsigned reserved_for_masters = 1,
             priority a_priority = priority::normal, leave_policy = leave_policy::automatic)
      : settings_{constraints{automatic, max_concurrency}, reserved_for_masters, int(a_priority)} {}

  // Makes an arena as above whose `limits` also select processors: a thread is bound to them while
  // it is in the arena. If max_threads_per_core is neither positive nor automatic, every function
  // that makes the arena, and max_concurrency if it depends on that, throws std::invalid_argument.
  task_arena(const constraints& limits, unsigned reserved_for_masters = 1,
             priority a_priority = priority::normal, leave_policy = leave_policy::automatic)
      : settings_{limits, reserved_for_masters, int(a_priority)} {}

  // Makes an arena as above. If limits.core_type is selectable, calls `select` with a
  // std::tuple<core_type_id, std::size_t, std::size_t> for each type of cores: the type, its
  // position in info::core_types() and their number. The arena uses the types for which the result
  // is positive; any type if that is so for all or none. Throws what `select` throws.
  template <typename Selector, typename = detail::core_type_score<Selector>>
  task_arena(const constraints& limits, Selector select, unsigned reserved_for_masters = 1,
             priority a_priority = priority::normal, leave_policy leave = leave_policy::automatic)
      : task_arena(detail::with_selected_cores(limits, select), reserved_for_masters, a_priority,
                   leave) {}

  // Copies the settings of `other`, not its arena.
  task_arena(const task_arena& other) : settings_(other.settings_) {}

  // Refers to the calling thread's arena. If the thread is in none, the object is inactive and has
  // the default settings.
  explicit task_arena(corbel::attach) : task_arena() { connect(); }

  // Releases the arena as terminate does. Tasks left in it still run.
  ~task_arena() { terminate(); }

  task_arena& operator=(const task_arena&) = delete;

  // Makes the arena if the object is not active; the forms with parameters change the settings
  // first. Does nothing if it is active. Throws bad_alloc.
  void initialize() { use(); }
  void initialize(int max_concurrency, unsigned reserved_for_masters = 1,
                  priority a_priority = priority::normal, leave_policy = leave_policy::automatic) {
    initialize(constraints{automatic, max_concurrency}, reserved_for_masters, a_priority);
  }
  void initialize(const constraints& limits, unsigned reserved_for_masters = 1,
                  priority a_priority = priority::normal, leave_policy = leave_policy::automatic) {
    if (is_active()) return;
    settings_ = {limits, reserved_for_masters, int(a_priority)};
    use();
  }
  template <typename Selector, typename = detail::core_type_score<Selector>>
  void initialize(const constraints& limits, Selector select, unsigned reserved_for_masters = 1,
                  priority a_priority = priority::normal,
                  leave_policy leave = leave_policy::automatic) {
    if (is_active()) return;
    initialize(detail::with_selected_cores(limits, select), reserved_for_masters, a_priority,
               leave);
  }
  void initialize(corbel::attach) {
    if (is_active()) return;
    connect();
    use();
  }

  // Releases the arena, which ends when its last task has ended and its last thread has left. The
  // next use makes a new arena. May be called inside execute and by tasks of the arena, but not
  // while another thread begins a call.
  void terminate() {
    // (4) acquire: sees the arena that (1) or (3) published
    detail::arena_handle* const arena = arena_.exchange(nullptr, std::memory_order_acquire);
    if (arena != nullptr) detail::release_arena(*arena);
  }

  // Returns whether there is an arena: it has been made, or attached to, and not released.
  bool is_active() const {
    // relaxed: only compared, the arena is not read
    return arena_.load(std::memory_order_relaxed) != nullptr;
  }

  // Calls f(), as a const object if it has such a call, in the arena and returns what it returns,
  // or throws what it throws. The calling thread occupies a slot there, or the one that it has
  // there already. If none is free, it waits until one is, or until another thread has made the
  // call for it. Tasks that `f` starts run in the arena. `f` and they run with the floating-point
  // settings of the thread that made the arena. If the thread is in this arena already, this is a
  // call outside of isolation scopes. May additionally throw bad_alloc.
  template <typename F>
  auto execute(F&& f) -> detail::const_call_result<F> {
    using call =
        detail::arena_call<typename std::remove_reference<F>::type, detail::const_call_result<F>>;
    call c(f);
    detail::execute_in(use(), &call::call, &c);
    return c.take_result();
  }

  // Starts a task in the arena that calls a copy of `f`, as a const object if it has such a call.
  // It runs eventually, even if no thread waits in the arena, but not while external threads have
  // all of several slots and do not wait. An exception of `f` ends the program with std::terminate.
  // Throws bad_alloc and what copying `f` throws.
  template <typename F>
  void enqueue(F&& f) {
    using made = detail::enqueued_task<typename std::decay<F>::type>;
    detail::arena_handle& arena = use();
    pass_on(arena, made::make(detail::current_thread(), std::forward<F>(f)));
  }

  // From TBB 2020. The priority is ignored: the arena has one.
  template <typename F>
  void enqueue(F&& f, priority) {
    enqueue(std::forward<F>(f));
  }

  // Submits a deferred task of a group to the arena. `h` must hold a task, and is empty afterwards.
  // Throws bad_alloc; the task is dropped then.
  void enqueue(task_handle&& h) {
    detail::arena_handle& arena = use();
    if (detail::group_task* const t = detail::take_ready(h)) pass_on(arena, *t);
  }

  // Starts a task of the group in the arena; the task calls a copy of `f`. Throws bad_alloc and
  // what copying `f` throws.
  template <typename F>
  void enqueue(F&& f, task_group& group) {
    enqueue(group.defer(std::forward<F>(f)));
  }

  // Calls group.wait() in the arena: waits until all tasks of the group have ended, and returns or
  // throws what that does. May additionally throw bad_alloc.
  task_group_status wait_for(task_group& group) {
    return execute([&group] { return group.wait(); });
  }

  // Runs tasks of the arena until the task has ended, and returns what task_group::wait_for_task
  // does. `task` must refer to a task. Throws bad_alloc.
  task_group_status wait_for(task_completion_handle& task) {
    return execute([&task] { return task_group::wait_for_end_of(task); });
  }

  // Announces a series of parallel calls, until end() or the destructor. Makes the arena and is
  // otherwise ignored, like leave_policy. Throws bad_alloc.
  class parallel_phase {
   public:
    // Allows workers to leave at once when the phase ends.
    struct end_flag_fast_leave {};
    class flags {
     public:
      flags() {}
      flags(end_flag_fast_leave) {}
    };

    // A phase in the calling thread's arena, or in `arena`.
    parallel_phase(corbel::attach, flags f = {});
    parallel_phase(task_arena& arena, flags f = {}) { arena.start_parallel_phase(f); }
    parallel_phase(parallel_phase&&) = default;
    parallel_phase& operator=(parallel_phase&&) = default;
    ~parallel_phase() { end(); }

    void end() {}
  };

  // A parallel_phase as two calls. Throws bad_alloc.
  void start_parallel_phase(parallel_phase::flags = {}) { use(); }
  void end_parallel_phase(parallel_phase::flags = {}) {}

  // Returns how many threads may work in the arena at a time. The additional worker in an arena of
  // one thread counts itself: it gets 2.
  int max_concurrency() const {
    const int requested = settings_.limits.max_concurrency;
    const int width = requested > 0 ? requested : detail::default_arena_width(settings_.limits);
    if (CORBEL_LIKELY(width != 1)) return width;
    // relaxed: only compared, the arena is not read
    return detail::is_additional_worker(arena_.load(std::memory_order_relaxed)) ? 2 : 1;
  }

  // Returns the index of the calling thread's slot in its arena; not_initialized if it is in none.
  static int current_thread_index() {
    const int index = detail::current_slot_index();
    return index < 0 ? not_initialized : index;
  }

 private:
  // Attaches to the calling thread's arena, if it is in one.
  void connect() {
    detail::arena_handle* const here = detail::attach_arena();
    if (here == nullptr) return;
    settings_.limits = constraints{automatic, detail::arena_width(*here)};
    arena_.store(here, std::memory_order_release);  // (1) release: publishes the arena to (2), (4)
  }

  friend class task_scheduler_observer;
  friend detail::arena_access;
  friend detail::arena_handle& handle_of(task_arena& arena) { return arena.use(); }

  static void pass_on(detail::arena_handle& arena, detail::task_base& t) {
    detail::enqueue_guard(t).pass_to(
        [&arena](detail::task_base& queued) { detail::enqueue_in(arena, queued); });
  }

  // Returns the arena, which it makes if there is none yet.
  detail::arena_handle& use() {
    // (2) acquire: sees the arena that (1) or (3) published
    detail::arena_handle* arena = arena_.load(std::memory_order_acquire);
    if (CORBEL_LIKELY(arena != nullptr)) return *arena;
    detail::arena_handle& made = detail::make_arena(settings_);
    // (3) release: publishes the arena to (2), (3) and (4). acquire on failure: another thread was
    // first, sees the arena that its (3) published
    if (arena_.compare_exchange_strong(arena, &made, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      return made;
    }
    detail::release_arena(made);
    return *arena;
  }

  detail::arena_settings settings_;
  std::atomic<detail::arena_handle*> arena_{nullptr};
};

namespace detail {

// For libtbb.so.12.
struct arena_access {
  // `a` has no arena: gives it one, without a reference, until take_back.
  static void lend(task_arena& a, arena_handle& arena) {
    a.arena_.store(&arena, std::memory_order_relaxed);  // relaxed, both: the only thread
  }
  static void take_back(task_arena& a) { a.arena_.store(nullptr, std::memory_order_relaxed); }
};

}  // namespace detail

// Returns one arena per memory node, whose threads are bound to the node. The parameters are those
// of task_arena's constructor; the node in `limits` is ignored. Throws bad_alloc. Any thread may
// call it.
inline std::vector<task_arena> create_numa_task_arenas(task_arena::constraints limits = {},
                                                       unsigned reserved_for_masters = 0) {
  std::vector<task_arena> arenas;
  for (const numa_node_id node : info::numa_nodes()) {
    arenas.emplace_back(limits.set_numa_id(node), reserved_for_masters);
  }
  return arenas;
}

// The calling thread's arena. Any thread may call these functions.
namespace this_task_arena {

// Returns the index of the calling thread's slot, from 0 up; task_arena::not_initialized outside of
// arenas. It is below max_concurrency().
inline int current_thread_index() { return task_arena::current_thread_index(); }

// Returns how many threads may work in the arena at a time, as task_arena::max_concurrency does.
// Makes an arena for a thread that has none. Throws bad_alloc.
inline int max_concurrency() { return detail::current_arena_width(); }

// Calls f() in an isolation scope and returns what it returns, or throws what it throws. A wait
// inside `f` runs only tasks that were started in the scope. Tasks that `f` enqueues are not
// isolated. May additionally throw bad_alloc.
template <typename F>
inline auto isolate(F&& f) -> detail::const_call_result<F> {
  using call =
      detail::arena_call<typename std::remove_reference<F>::type, detail::const_call_result<F>>;
  call c(f);
  detail::isolate_in(detail::new_isolation_scope(), &call::call, &c);
  return c.take_result();
}

// Do what task_arena::enqueue does, in the calling thread's arena. Make an arena for a thread that
// has none.
template <typename F>
inline void enqueue(F&& f) {
  using task = detail::enqueued_task<typename std::decay<F>::type>;
  detail::enqueue_guard(task::make(detail::current_thread(), std::forward<F>(f)))
      .pass_to(&detail::enqueue_here);
}
inline void enqueue(task_handle&& h) {
  detail::group_task* const t = detail::take_ready(h);
  if (t != nullptr) detail::enqueue_guard(*t).pass_to(&detail::enqueue_here);
}
template <typename F>
inline void enqueue(F&& f, task_group& group) {
  enqueue(group.defer(std::forward<F>(f)));
}

// Like task_arena's functions of these names, for the calling thread's arena, which is made if
// there is none. Throw bad_alloc.
inline void start_parallel_phase(task_arena::parallel_phase::flags = {}) {
  static_cast<void>(detail::current_arena_width());
}
inline void end_parallel_phase(task_arena::parallel_phase::flags = {}) {}

}  // namespace this_task_arena

inline task_arena::parallel_phase::parallel_phase(corbel::attach, flags f) {
  this_task_arena::start_parallel_phase(f);
}

}  // namespace corbel

#endif  // CORBEL_TASK_ARENA_HPP
