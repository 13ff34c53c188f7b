// SPDX-License-Identifier: Apache-2.0
// Arenas: groups of threads that work on the same tasks. C++11 upwards. Follows the oneTBB
// specification 1.4, and TBB 2020 where it has more.
#ifndef CORBEL_TASK_ARENA_HPP
#define CORBEL_TASK_ARENA_HPP

#include <atomic>
#include <utility>
#include <vector>

#include <corbel/detail/arena_call.hpp>
#include <corbel/detail/arena_place.hpp>
#include <corbel/info.hpp>
#include <corbel/task_group.hpp>

namespace corbel {

// For a task_arena that stands for the one in which the calling thread is.
struct attach {};

namespace detail {

// An arena of the library.
struct arena_handle;

struct arena_wishes {
  constraints limits;
  unsigned reserved;
  int priority;
};

// Throws bad_alloc.
CORBEL_EXPORT arena_handle& make_arena(const arena_wishes& wishes);
// The arena of the calling thread; nullptr if it has none yet. `release_arena` gives it back, too.
CORBEL_EXPORT arena_handle* attach_arena() noexcept;
CORBEL_EXPORT void release_arena(arena_handle& arena) noexcept;
CORBEL_EXPORT int arena_width(const arena_handle& arena) noexcept;
CORBEL_EXPORT int current_arena_width();
CORBEL_EXPORT int default_arena_width(const constraints& limits);

// Calls function(argument) in the arena and returns when it has returned. What it throws passes
// through.
CORBEL_EXPORT void execute_in(arena_handle& arena, void (*function)(void*), void* argument);
CORBEL_EXPORT void enqueue_in(arena_handle& arena, task_base& task);
CORBEL_EXPORT void enqueue_here(task_base& task);

// The group task of a handle that may begin, else nullptr: then those it waits for submit it.
inline group_task* take_ready(task_handle& h) {
  CORBEL_ASSERT(bool(h), "the handle holds no task");
  group_task* const t = handle_access::take(h);
  task_order* const order = t->order.load(std::memory_order_relaxed);  // relaxed: as in submit
  return order == nullptr || may_begin(*order) ? t : nullptr;
}

}  // namespace detail

// The settings of an arena, and the arena itself once it is used first. All members but the
// constructors, the destructor, initialize and terminate may be called from any thread.
class task_arena {
 public:
  // As many threads as the process may use at once; and what stands where there is no arena.
  static constexpr int automatic = -1;
  static constexpr int not_initialized = -2;

  // Arenas of higher priority are helped by the library's threads first.
  enum class priority : int { low = -1, normal = 0, high = 1 };

  // How soon the library's threads leave an arena that has no work. A wish, which changes nothing
  // here: they search for some 100 us, and are free for other arenas then.
  enum class leave_policy : int { automatic = 0, fast = 1 };

  using constraints = detail::constraints;
  using attach = corbel::attach;

  // At most `max_concurrency` threads work in it at a time, the program's included; of these
  // places `reserved_for_masters` are for threads of the program only. A task that is enqueued
  // where no other thread may come gets one thread more.
  task_arena(int max_concurrency = automatic, unsigned reserved_for_masters = 1,
             priority a_priority = priority::normal, leave_policy = leave_policy::automatic)
      : wishes_{constraints{automatic, max_concurrency}, reserved_for_masters, int(a_priority)} {}

  // The same, and on which processors: threads are bound to them while they are in the arena.
  task_arena(const constraints& limits, unsigned reserved_for_masters = 1,
             priority a_priority = priority::normal, leave_policy = leave_policy::automatic)
      : wishes_{limits, reserved_for_masters, int(a_priority)} {}

  // The settings of the other, not its arena.
  task_arena(const task_arena& other) : wishes_(other.wishes_) {}

  // The arena in which the calling thread is; inactive, with the default settings, if it is in
  // none.
  explicit task_arena(corbel::attach) : task_arena() { connect(); }

  // Tasks in the arena run all the same.
  ~task_arena() { terminate(); }

  task_arena& operator=(const task_arena&) = delete;

  // Makes the arena, if it is not active; the others change the settings before. Throws bad_alloc.
  void initialize() { use(); }
  void initialize(int max_concurrency, unsigned reserved_for_masters = 1,
                  priority a_priority = priority::normal, leave_policy = leave_policy::automatic) {
    initialize(constraints{automatic, max_concurrency}, reserved_for_masters, a_priority);
  }
  void initialize(const constraints& limits, unsigned reserved_for_masters = 1,
                  priority a_priority = priority::normal, leave_policy = leave_policy::automatic) {
    if (is_active()) return;
    wishes_ = {limits, reserved_for_masters, int(a_priority)};
    use();
  }
  void initialize(corbel::attach) {
    if (is_active()) return;
    connect();
    use();
  }

  // Lets go of the arena, which ends with its last task and with the last thread in it. Another one
  // is made at the next use. May be called inside of a call of execute, and by the arena's tasks;
  // not while another thread begins a call.
  void terminate() {
    // acquire: with (1), (3)
    detail::arena_handle* const arena = arena_.exchange(nullptr, std::memory_order_acquire);
    if (arena != nullptr) detail::release_arena(*arena);
  }

  // Whether the arena has been made.
  bool is_active() const { return arena_.load(std::memory_order_relaxed) != nullptr; }

  // Calls f() in the arena and returns what it returns, or throws what it throws. The calling
  // thread takes a place there; if none is free it waits until one is, or until another thread has
  // made the call. Tasks that f starts are for the threads of the arena. A call in the thread's own
  // arena is a plain call. Throws bad_alloc besides.
  template <typename F>
  auto execute(F&& f) -> decltype(f()) {
    using call = detail::arena_call<typename std::remove_reference<F>::type, decltype(f())>;
    call c(f);
    detail::execute_in(use(), &call::call, &c);
    return c.take_result();
  }

  // A task that calls a copy of f runs in the arena some time, whether anybody waits or not. What
  // it throws ends the program. Throws bad_alloc.
  template <typename F>
  void enqueue(F&& f) {
    using lone = detail::lone_task<typename std::decay<F>::type>;
    detail::arena_handle& arena = use();
    pass_on(arena, lone::make(detail::current_worker(), std::forward<F>(f)));
  }

  // As in TBB 2020; the priority is that of the arena.
  template <typename F>
  void enqueue(F&& f, priority) {
    enqueue(std::forward<F>(f));
  }

  // A task that the group has deferred runs in the arena. The handle must hold one and is empty
  // then, also after bad_alloc: the task is dropped.
  void enqueue(task_handle&& h) {
    detail::arena_handle& arena = use();
    if (detail::group_task* const t = detail::take_ready(h)) pass_on(arena, *t);
  }

  // A task of the group that calls a copy of f runs in the arena.
  template <typename F>
  void enqueue(F&& f, task_group& group) {
    enqueue(group.defer(std::forward<F>(f)));
  }

  // Waits in the arena until all tasks of the group have ended; as task_group::wait.
  task_group_status wait_for(task_group& group) {
    return execute([&group] { return group.wait(); });
  }

  // Says that parallel work comes from now on again and again, until the object or end() ends it.
  // Makes the arena; a wish besides, as leave_policy is.
  class parallel_phase {
   public:
    // Threads may leave at once when it ends.
    struct end_flag_fast_leave {};
    class flags {
     public:
      flags() {}
      flags(end_flag_fast_leave) {}
    };

    // In the arena in which the calling thread is, and in the given one.
    parallel_phase(corbel::attach, flags f = {});
    parallel_phase(task_arena& arena, flags f = {}) { arena.start_parallel_phase(f); }
    parallel_phase(parallel_phase&&) = default;
    parallel_phase& operator=(parallel_phase&&) = default;
    ~parallel_phase() { end(); }

    void end() {}
  };

  // The same in two functions.
  void start_parallel_phase(parallel_phase::flags = {}) { use(); }
  void end_parallel_phase(parallel_phase::flags = {}) {}

  // How many threads may work in it at a time.
  int max_concurrency() const {
    const int wish = wishes_.limits.max_concurrency;
    return wish > 0 ? wish : detail::default_arena_width(wishes_.limits);
  }

  // As this_task_arena::current_thread_index, with not_initialized where there is none.
  static int current_thread_index() {
    const int index = detail::current_slot_index();
    return index < 0 ? not_initialized : index;
  }

 private:
  // Takes the arena in which the calling thread is, if it is in one.
  void connect() {
    detail::arena_handle* const here = detail::attach_arena();
    if (here == nullptr) return;
    wishes_.limits = constraints{automatic, detail::arena_width(*here)};
    arena_.store(here, std::memory_order_release);  // (1) release: with (2)
  }

  friend class task_scheduler_observer;
  friend detail::arena_handle& handle_of(task_arena& arena) { return arena.use(); }

  static void pass_on(detail::arena_handle& arena, detail::task_base& t) {
    detail::queued_task(t).pass_to(
        [&arena](detail::task_base& queued) { detail::enqueue_in(arena, queued); });
  }

  // The arena, made if there is none yet.
  detail::arena_handle& use() {
    // (2) acquire: with (1), (3)
    detail::arena_handle* arena = arena_.load(std::memory_order_acquire);
    if (CORBEL_LIKELY(arena != nullptr)) return *arena;
    detail::arena_handle& made = detail::make_arena(wishes_);
    // (3) acq_rel: publishes it; or somebody was faster, as (2)
    if (arena_.compare_exchange_strong(arena, &made, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      return made;
    }
    detail::release_arena(made);
    return *arena;
  }

  detail::arena_wishes wishes_;
  std::atomic<detail::arena_handle*> arena_{nullptr};
};

// One arena for each memory node, whose threads are bound to it. `limits` and the others are as in
// task_arena's constructor; its node is not looked at.
inline std::vector<task_arena> create_numa_task_arenas(task_arena::constraints limits = {},
                                                       unsigned reserved_for_masters = 0) {
  std::vector<task_arena> arenas;
  for (const numa_node_id node : info::numa_nodes()) {
    arenas.emplace_back(limits.set_numa_id(node), reserved_for_masters);
  }
  return arenas;
}

// The arena in which the calling thread is.
namespace this_task_arena {

// The number of the place that the calling thread has, less than max_concurrency() but for the
// thread that only runs enqueued tasks; task_arena::not_initialized in no arena.
inline int current_thread_index() { return task_arena::current_thread_index(); }

// How many threads may work in it at a time.
inline int max_concurrency() { return detail::current_arena_width(); }

// Calls f() and returns what it returns. While it waits inside of f the thread runs tasks that were
// started in f only, and no others; which is not so for tasks that are enqueued. What f throws
// passes through; throws bad_alloc besides.
template <typename F>
inline auto isolate(F&& f) -> decltype(f()) {
  using call = detail::arena_call<typename std::remove_reference<F>::type, decltype(f())>;
  call c(f);
  detail::isolate_in(detail::new_region(), &call::call, &c);
  return c.take_result();
}

// As those of task_arena.
template <typename F>
inline void enqueue(F&& f) {
  using task = detail::lone_task<typename std::decay<F>::type>;
  detail::queued_task(task::make(detail::current_worker(), std::forward<F>(f)))
      .pass_to(&detail::enqueue_here);
}
inline void enqueue(task_handle&& h) {
  detail::group_task* const t = detail::take_ready(h);
  if (t != nullptr) detail::queued_task(*t).pass_to(&detail::enqueue_here);
}
template <typename F>
inline void enqueue(F&& f, task_group& group) {
  enqueue(group.defer(std::forward<F>(f)));
}

// As those of task_arena; brings the arena into being where there is none.
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
